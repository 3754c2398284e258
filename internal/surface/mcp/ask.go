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

// capabilities reads what a client declared at initialize.
func capabilities(declared []byte) (can capability) {
	for name, value := range httpd.Fields(declared) {
		switch name {
		case "elicitation":
			can |= elicitation(value)
		case "sampling":
			can |= canSample
		case "roots":
			can |= canListRoots
		case "extensions":
			if httpd.Field(value, tasksExtension) != nil {
				can |= canTasks
			}
		}
	}
	return can
}

// elicitation: before there were modes, declaring it meant forms.
func elicitation(value []byte) (can capability) {
	if httpd.Field(value, "url") != nil {
		can |= canElicitURL
	}
	if httpd.Field(value, "form") != nil || can == 0 {
		can |= canElicitForm
	}
	return can
}

// agentNames are the words that agents know the capabilities by.
func (c capability) agentNames() []string {
	var list []string
	if c&(canElicitForm|canElicitURL) != 0 {
		list = append(list, "elicitation")
	}
	if c.has(canElicitURL) {
		list = append(list, "elicitation/url")
	}
	if c.has(canSample) {
		list = append(list, "sampling")
	}
	if c.has(canListRoots) {
		list = append(list, "roots")
	}
	return list
}

// declaration is how a client would say that it can.
func (c capability) declaration() string {
	switch c {
	case canElicitForm:
		return `{"elicitation":{"form":{}}}`
	case canElicitURL:
		return `{"elicitation":{"url":{}}}`
	case canSample:
		return `{"sampling":{}}`
	case canListRoots:
		return `{"roots":{}}`
	case canTasks:
		return `{"extensions":{"` + tasksExtension + `":{}}}`
	}
	return `{}`
}

// neededCapability is what a client must be capable of to be asked; 0 = no client is.
func neededCapability(ev *beeos.Event) capability {
	switch ev.Method {
	case "elicitation/create":
		if mode, _ := httpd.StringValue(httpd.Field(ev.Data, "mode")); mode == "url" {
			return canElicitURL
		}
		return canElicitForm
	case "sampling/createMessage":
		return canSample
	case "roots/list":
		return canListRoots
	}
	return 0
}

// refuseQuestion answers a question that cannot be put, or the agent would wait for
// nothing.
func (x *exchange) refuseQuestion(ctx context.Context, ev *beeos.Event) {
	x.answerAgent(ctx, ev.AskID, nil, &beeos.FrameFault{Code: "cannot_ask", Message: "the caller's program does not support " + ev.Method})
}

// questionRequest returns the request to send to the client of a session, or nil.
func (x *exchange) questionRequest(ctx context.Context, ev *beeos.Event) []byte {
	if x.session == nil || !x.out.acceptsStream || !x.can.has(neededCapability(ev)) {
		x.refuseQuestion(ctx, ev)
		return nil
	}
	id := x.g.sealer.seal(sealedAsk, x.endpointAgent, x.caller.Principal(), []byte(ev.AskID))
	b := append([]byte(nil), `{"jsonrpc":"2.0","id":"`+id+`","method":`...)
	b = appendText(b, ev.Method)
	if len(ev.Data) > 0 {
		b = append(b, `,"params":`...)
		b = append(b, ev.Data...)
	}
	return append(b, '}')
}

// receiveAnswer carries the client's response to the agent that asked.
func (x *exchange) receiveAnswer(ctx context.Context, m *message) error {
	id, _ := httpd.StringValue(m.id)
	ask, ok := x.g.sealer.open(sealedAsk, x.endpointAgent, x.caller.Principal(), id)
	if !ok {
		return &fault{
			err:    beeos.Errorf(beeos.InvalidBody, "this response answers no request of ours"),
			number: codeNumbers[beeos.InvalidBody],
			status: http.StatusBadRequest,
		}
	}
	var refusal *beeos.FrameFault
	if m.fault != nil {
		refusal = &beeos.FrameFault{Code: string(httpd.Field(m.fault, "code"))}
		refusal.Message, _ = httpd.StringValue(httpd.Field(m.fault, "message"))
	}
	x.answerAgent(ctx, string(ask), m.result, refusal)
	return nil
}

func (x *exchange) answerAgent(ctx context.Context, ask string, result []byte, refusal *beeos.FrameFault) {
	if err := x.g.opt.Calls.Answer(ctx, ask, result, refusal); err != nil {
		x.g.opt.Log.WarnContext(ctx, "answer to an agent's question", "err", err)
	}
}
