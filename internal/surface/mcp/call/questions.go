package call

import (
	"context"
	"fmt"
	"net/http"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/surface/mcp/sessions"
	"github.com/beeos/beeos/internal/surface/mcp/wire"
	"github.com/beeos/beeos/internal/wire/strictjson"
)

// An agent may ask the client something in the middle of a call: a person's
// answer, its model, its folders. Up to 2025-11-25 (input_rounds.go has the
// rest) the question goes out as a request of ours on the call's stream, and the
// client answers with a POST of its own, which any replica may get: the id of
// our request is the agent's ask, sealed.

// refuseQuestion answers a question that cannot be put, or the agent would wait
// for nothing.
func (x *Client) refuseQuestion(ctx context.Context, ev *beeos.Event) {
	x.answerAgent(ctx, ev.AskID, nil, &beeos.FrameFault{Code: "cannot_ask", Message: "the caller's program does not support " + ev.Method})
}

// questionRequest returns the request to send to the client of a session, or
// nil.
func (x *Client) questionRequest(ctx context.Context, ev *beeos.Event) []byte {
	if x.Session == nil || !x.Out.AcceptsStream || !x.Can.Has(wire.NeededCapability(ev)) {
		x.refuseQuestion(ctx, ev)
		return nil
	}
	id := x.Runner.Sealer.Seal(sessions.SealedAsk, x.EndpointAgent, x.Caller.Principal(), []byte(ev.AskID))
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":"%s",%s}`, id, wire.QuestionMembers(ev))
}

// ReceiveAnswer carries the client's response to the agent that asked.
func (x *Client) ReceiveAnswer(ctx context.Context, m *wire.Message) error {
	id, _ := strictjson.StringValue(m.ID)
	ask, ok := x.Runner.Sealer.Open(sessions.SealedAsk, x.EndpointAgent, x.Caller.Principal(), id)
	if !ok {
		return wire.WithStatus(http.StatusBadRequest, beeos.Errorf(beeos.InvalidBody, "this response answers no request of ours"))
	}
	var refusal *beeos.FrameFault
	if m.Fault != nil {
		refusal = &beeos.FrameFault{Code: string(strictjson.Field(m.Fault, "code"))}
		refusal.Message, _ = strictjson.StringField(m.Fault, "message")
	}
	x.answerAgent(ctx, string(ask), m.Result, refusal)
	return nil
}

func (x *Client) answerAgent(ctx context.Context, ask string, result []byte, refusal *beeos.FrameFault) {
	if err := x.Runner.Calls.Answer(ctx, ask, result, refusal); err != nil {
		x.Runner.Log.WarnContext(ctx, "answer to an agent's question", "err", err)
	}
}
