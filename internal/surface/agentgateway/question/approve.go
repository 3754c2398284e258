package question

import (
	"bytes"
	"encoding/json"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/access/approval"
	"github.com/beeos/beeos/internal/engine/bus"
	"github.com/beeos/beeos/internal/surface/agentgateway/codec"
	"github.com/beeos/beeos/internal/surface/agentgateway/turn"
)

// Approve asks a person about a tool call; the agent gets the decision. It may
// take long: the agent keeps its turn, the caller hears that somebody is being
// asked. An agent that sends the same request again, on another connection or
// after a restart, waits for the same decision.
func (q *Questions) Approve(t *turn.Turn, f *beeos.Frame, send Send) error {
	if q.Approvals == nil {
		return beeos.Errorf(beeos.AgentServiceUnavailable, "nobody can be asked here")
	}
	pending := q.pendingOf(t, send)
	if pending == nil {
		return nil
	}
	call := approval.ToolCall{
		Turn: t.ID, Channel: t.Channel, Deadline: t.Deadline, Request: f.RequestID, Skill: f.Skill, Tool: f.Tool,
		Arguments: bytes.Clone(f.Arguments), Auto: f.Auto,
	}
	return pending.Ask(call, func(made beeos.Approved, err error) {
		out := beeos.Frame{Type: beeos.FrameDecision, MessageID: call.Turn, RequestID: call.Request}
		if err != nil {
			out.Error = codec.Fault(err)
		} else {
			out.Result, _ = json.Marshal(made) // strings
		}
		send(codec.Encode(&out))
	})
}

// pendingOf returns the tool calls of a turn that wait for a decision, or nil
// when the turn is over.
func (q *Questions) pendingOf(t *turn.Turn, send Send) *approval.Pending {
	q.mu.Lock()
	defer q.mu.Unlock()
	a := q.askerOf(t)
	if a == nil {
		return nil
	}
	if a.pending == nil {
		a.pending = q.Approvals.NewPending(t.Agent, prompter{q, t, send}, q.start)
	}
	return a.pending
}

// prompter shows the approvals of a turn to its caller.
type prompter struct {
	*Questions
	turn *turn.Turn
	send Send
}

func (p prompter) ShowProgress(text, method string, step beeos.ApprovalStep) {
	data, _ := json.Marshal(step) //nolint:errcheck // strings and a time
	p.turn.Publish(beeos.Event{Kind: beeos.EventProgress, Text: text, Method: method, Data: data})
}

func (p prompter) OpenPrompt(o approval.Offer, form json.RawMessage) error {
	return p.ask(p.turn, question{send: p.send, offer: &o}, beeos.Event{
		AskID: beeos.ApprovalAsk + o.ApprovalID, Key: approval.KeyPrefix + o.ApprovalID, Method: "elicitation/create", Data: form,
	})
}

func (p prompter) ClosePrompt(o approval.Offer) {
	p.take(beeos.ApprovalAsk + o.ApprovalID)
	p.Bus.Control(bus.Control{Kind: bus.TurnChanged, ID: p.turn.ID})
}
