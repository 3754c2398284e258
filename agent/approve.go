package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	"github.com/beeos/beeos"
)

// Denied is the error of a tool call that may not be made. Tell the model: it
// can try something else.
type Denied struct {
	Tool    string
	Reason  string // what the person wrote; may be empty
	Expired bool   // nobody decided in time
}

func (d *Denied) Error() string {
	switch {
	case d.Expired:
		return d.Tool + " was not approved in time"
	case d.Reason != "":
		return d.Tool + " was denied: " + d.Reason
	}
	return d.Tool + " was denied"
}

// Approval describes a tool call that may need a person's consent.
type Approval struct {
	Skill     string // the server that the tool is on; empty for the agent's own
	Tool      string
	Arguments any  // anything that JSON can carry; the call must be made with exactly these
	Auto      bool // go ahead unless the owner wants to be asked, or the tool is declared destructive

	// Key names this one call within its message, for agents that know after a
	// restart which calls they have made: a yes that was given to a key is given
	// to it again. Empty: a yes that may have been heard is not given again.
	Key string
}

// Approve asks the owner of the agent whether the tool may be called with
// these arguments, and waits. Nil means yes, once, and with exactly these; a
// *Denied means no. The owner's rules may say yes or no at once.
//
// The question outlives this process: asked again for the same message after
// a restart, it is the same question, and a decision that nobody has used yet
// counts. Asked again after it was used, it is a new one.
func (r *Reply) Approve(ctx context.Context, tool string, args any) error {
	return r.Gate(ctx, Approval{Tool: tool, Arguments: args})
}

// gate is a question that stays open over connections: a tool call that waits
// for a decision, or a pause.
type gate struct {
	frame  []byte // to be sent again on another connection
	answer chan beeos.Frame
}

// Gate is Approve with all that there is to say about the call.
func (r *Reply) Gate(ctx context.Context, q Approval) error {
	args, err := beeos.EncodeJSON(q.Arguments)
	if err != nil {
		return fmt.Errorf("approve %s: %w", q.Tool, err)
	}
	if string(args) == "null" {
		args = []byte("{}")
	}
	id := cmp.Or(q.Key, beeos.NewID())
	g, err := r.openGate(beeos.Frame{
		Type: beeos.FrameApprove, MessageID: r.m.ID, RequestID: id, Skill: q.Skill, Tool: q.Tool, Arguments: args, Auto: q.Auto,
	})
	if err != nil {
		return err
	}
	defer r.closeGate(id)
	select {
	case f := <-g.answer:
		return verdict(q.Tool, f)
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-r.ctx.Done():
		return context.Cause(r.ctx)
	}
}

// verdict reads what was decided.
func verdict(tool string, f beeos.Frame) error {
	if err := faultIn(f); err != nil {
		return fmt.Errorf("approve %s: %w", tool, err)
	}
	var made beeos.Approved
	if err := json.Unmarshal(f.Result, &made); err != nil {
		return fmt.Errorf("approve %s: the gateway answered something else: %w", tool, err)
	}
	if made.Approved {
		return nil
	}
	return &Denied{Tool: tool, Reason: made.Reason, Expired: made.Expired}
}

// openGate asks f, now or on the next connection.
func (r *Reply) openGate(f beeos.Frame) (*gate, error) {
	g := &gate{frame: encode(f), answer: make(chan beeos.Frame, 1)}
	if len(g.frame) > maxReply {
		return nil, errTooLarge
	}
	r.mu.Lock()
	if r.final != nil {
		r.mu.Unlock()
		return nil, ErrEnded
	}
	if r.gates[f.RequestID] != nil {
		r.mu.Unlock()
		return nil, fmt.Errorf("%q waits for a decision already; give each call a key of its own", f.RequestID)
	}
	if r.gates == nil {
		r.gates = map[string]*gate{}
	}
	r.gates[f.RequestID] = g
	r.mu.Unlock()
	if l := r.a.current(); l != nil {
		l.send(g.frame)
	}
	return g, nil
}

func (r *Reply) closeGate(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.gates, id)
}

// decided hands a decision, or that there is none, to whoever waits for it.
func (r *Reply) decided(f beeos.Frame) {
	r.mu.Lock()
	g := r.gates[f.RequestID]
	delete(r.gates, f.RequestID)
	r.mu.Unlock()
	if g != nil {
		g.answer <- f // it has room for one
	}
}
