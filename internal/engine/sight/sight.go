// Package sight puts together what is known of one call: the request and its
// reply, who was given it and when, what was asked and decided in between
// (timeline.go). It reads what the ledger and the approvals have anyway; nothing
// is written for it but the ledger's trail.
package sight

import (
	"context"
	"encoding/json"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/ledger"
	"github.com/beeos/beeos/internal/store/approvals"
	"github.com/beeos/beeos/internal/store/calls"
	"github.com/beeos/beeos/internal/store/webhooks"
	"github.com/beeos/beeos/internal/telemetry/trace"
)

// Reader reads calls. What of two can be compared is in package compare.
type Reader struct {
	Ledger    *ledger.Ledger
	Approvals *approvals.Table
	Calls     *calls.Table
	Webhooks  *webhooks.Table
}

// Call is all that is known of a call.
type Call struct {
	ledger.Request
	Payload   beeos.Call // what the protocol said besides the text
	Outcome   calls.Outcome
	Attempts  []ledger.Attempt
	Approvals []approvals.Approval
	Steps     []beeos.Step // what the agent told of its work, with the reply
	Timeline  []Moment
	ReplayOf  string         // the request that it repeats; empty = none
	Replays   []calls.Replay // those that repeat it, the newest first
	TraceID   string         // of the distributed trace that the call is part of; "" = of none

	MetadataOnly bool // what was said is kept from who looks
}

// HideWords leaves out of a call what was said: the request, the reply, what was
// asked in between, and what the agent told of its work beyond what it was.
func (c *Call) HideWords() {
	c.Body, c.Parts, c.Request.Payload = "", nil, nil
	c.Payload = beeos.Call{
		Protocol: c.Payload.Protocol, Revision: c.Payload.Revision, Method: c.Payload.Method, Tool: c.Payload.Tool, Model: c.Payload.Model, MetadataOnly: true,
	}
	if c.Done != nil {
		done := *c.Done
		done.Body, done.Parts, done.Payload = "", nil, nil
		c.Done = &done
	}
	for i := range c.Approvals {
		c.Approvals[i].Arguments, c.Approvals[i].Hash, c.Approvals[i].Reason = nil, nil, ""
	}
	for i := range c.Steps {
		hideStepWords(&c.Steps[i])
	}
	for i := range c.Timeline {
		if m := &c.Timeline[i]; m.Kind == QuestionAsked {
			m.What = ""
		}
	}
}

// ownAttributes are those of steps that are no words of callers: as built-in agents
// and bridges tell them.
var ownAttributes = []string{"server", "provider", "finish", "result_bytes", "tool_calls", "task", "state", beeos.StepReadOnly, beeos.StepApproval, beeos.StepDecidedBy}

func hideStepWords(s *beeos.Step) {
	kept := map[string]string{}
	for _, name := range ownAttributes {
		if v, ok := s.Attributes[name]; ok {
			kept[name] = beeos.Shorten(v, 100)
		}
	}
	if s.Attributes = kept; s.Error != "" {
		s.Error = "failed"
	}
}

// maxMessages bounds what is read of one exchange.
const maxMessages = 500

// Call returns what is known of the call with this request.
func (r *Reader) Call(ctx context.Context, turn string) (Call, error) {
	var c Call
	var err error
	if c.Request, err = r.Ledger.FindRequest(ctx, turn); err != nil {
		return Call{}, err
	}
	_ = json.Unmarshal(c.Request.Payload, &c.Payload) // written by invoke; a request without one has nothing to show
	c.Outcome = calls.Working
	if c.Done != nil {
		c.Outcome = calls.OutcomeOf(c.Done)
	}
	if c.Attempts, err = r.Ledger.Attempts(ctx, &c.Request); err != nil {
		return Call{}, err
	}
	if c.Approvals, err = r.Approvals.ListByTurns(ctx, []string{turn}); err != nil {
		return Call{}, err
	}
	if c.Steps, err = r.Calls.Steps(ctx, turn); err != nil {
		return Call{}, err
	}
	if c.ReplayOf, err = r.Calls.ReplayOf(ctx, turn); err != nil {
		return Call{}, err
	}
	if c.Replays, err = r.Calls.Replays(ctx, turn); err != nil {
		return Call{}, err
	}
	stored, err := r.Ledger.Trace(ctx, turn)
	if err != nil {
		return Call{}, err
	}
	c.TraceID = trace.ParseOrigin(stored).ID()
	messages, err := r.Ledger.RequestMessages(ctx, c.Channel, turn, c.Offset, maxMessages)
	if err != nil {
		return Call{}, err
	}
	var delivered []time.Time
	if c.Done != nil {
		if delivered, err = r.Webhooks.ListEndsTaken(ctx, turn); err != nil {
			return Call{}, err
		}
	}
	c.Timeline = timeline(&c, messages, delivered)
	return c, nil
}
