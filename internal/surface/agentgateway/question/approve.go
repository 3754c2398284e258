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
	call := approval.ToolCall{
		Turn: t.ID, Channel: t.Channel, Deadline: t.Deadline, Request: f.RequestID, Skill: f.Skill, Tool: f.Tool,
		Arguments: bytes.Clone(f.Arguments), Auto: f.Auto,
	}
	return q.pendingOf(t, send).Ask(call, func(made beeos.Approved, err error) {
		out := beeos.Frame{Type: beeos.FrameDecision, MessageID: call.Turn, RequestID: call.Request}
		if err != nil {
			out.Error = codec.Fault(err)
		} else {
			out.Result, _ = json.Marshal(made) // strings
		}
		send(codec.Encode(&out))
	})
}

// pendingOf returns the tool calls of a turn that wait for a decision.
func (q *Questions) pendingOf(t *turn.Turn, send Send) *approval.Pending {
	q.mu.Lock()
	defer q.mu.Unlock()
	if p := q.pending[t]; p != nil {
		return p
	}
	p := q.Approvals.NewPending(t.Agent, prompter{q, t, send}, q.Go)
	if !t.OnDrop(func() { q.closePending(t) }) {
		p.Close()
		return p
	}
	q.pending[t] = p
	return p
}

func (q *Questions) closePending(t *turn.Turn) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.pending[t].Close()
	delete(q.pending, t)
}

// prompter shows the approvals of a turn to its caller.
type prompter struct {
	*Questions
	turn *turn.Turn
	send Send
}

func (p prompter) ShowProgress(text string) {
	p.turn.Publish(beeos.Event{Kind: beeos.EventProgress, Text: text})
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
