package mcp

import (
	"context"
	"net/http"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/wire/httpd"
)

// An agent may ask the client something in the middle of a call: a person's
// answer, its model, its folders. Up to 2025-11-25 (rounds.go has the rest) the
// question goes out as a request of ours
// on the call's stream, and the client answers with a POST of its own, which
// any replica may get: the id of our request is the agent's ask, sealed.

// refuseQuestion answers a question that cannot be put, or the agent would wait for
// nothing.
func (x *client) refuseQuestion(ctx context.Context, ev *beeos.Event) {
	x.answerAgent(ctx, ev.AskID, nil, &beeos.FrameFault{Code: "cannot_ask", Message: "the caller's program does not support " + ev.Method})
}

// questionRequest returns the request to send to the client of a session, or nil.
func (x *client) questionRequest(ctx context.Context, ev *beeos.Event) []byte {
	if x.session == nil || !x.out.acceptsStream || !x.can.has(neededCapability(ev)) {
		x.refuseQuestion(ctx, ev)
		return nil
	}
	id := x.runner.Sealer.seal(sealedAsk, x.endpointAgent, x.caller.Principal(), []byte(ev.AskID))
	b := append([]byte(nil), `{"jsonrpc":"2.0","id":"`+id+`","method":`...)
	b = appendText(b, ev.Method)
	if len(ev.Data) > 0 {
		b = append(b, `,"params":`...)
		b = append(b, ev.Data...)
	}
	return append(b, '}')
}

// receiveAnswer carries the client's response to the agent that asked.
func (x *client) receiveAnswer(ctx context.Context, m *message) error {
	id, _ := httpd.StringValue(m.id)
	ask, ok := x.runner.Sealer.open(sealedAsk, x.endpointAgent, x.caller.Principal(), id)
	if !ok {
		return withStatus(http.StatusBadRequest, beeos.Errorf(beeos.InvalidBody, "this response answers no request of ours"))
	}
	var refusal *beeos.FrameFault
	if m.fault != nil {
		refusal = &beeos.FrameFault{Code: string(httpd.Field(m.fault, "code"))}
		refusal.Message, _ = httpd.StringValue(httpd.Field(m.fault, "message"))
	}
	x.answerAgent(ctx, string(ask), m.result, refusal)
	return nil
}

func (x *client) answerAgent(ctx context.Context, ask string, result []byte, refusal *beeos.FrameFault) {
	if err := x.runner.Calls.Answer(ctx, ask, result, refusal); err != nil {
		x.runner.Log.WarnContext(ctx, "answer to an agent's question", "err", err)
	}
}
