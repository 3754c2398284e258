package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"time"

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

	// Step is the call's step, if it has one: it tells whether somebody was asked, and
	// who decided.
	Step *Step
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

// askAgainFirst and askAgainLast are between two tries to ask while the server
// cannot store the question.
const askAgainFirst, askAgainLast = time.Second, 15 * time.Second

// poseApproval asks until the question is stored: a server that has lost its
// database for a moment has not denied anything. Under one id it is one question.
func (r *Reply) poseApproval(ctx context.Context, f beeos.Frame) (beeos.Frame, error) {
	for pause := askAgainFirst; ; pause = min(2*pause, askAgainLast) {
		got, err := r.pose(ctx, "approve "+f.Tool, f, nil)
		if beeos.CodeOf(err) != beeos.AgentServiceUnavailable {
			return got, err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return got, err
		case <-r.ctx.Done():
			return got, err
		}
	}
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
	f, err := r.poseApproval(ctx, beeos.Frame{
		Type: beeos.FrameApprove, RequestID: cmp.Or(q.Key, beeos.NewID()), Skill: q.Skill, Tool: q.Tool, Arguments: args, Auto: q.Auto,
	})
	if err != nil {
		return err
	}
	var made beeos.Approved
	if err := json.Unmarshal(f.Result, &made); err != nil {
		return fmt.Errorf("approve %s: the gateway answered something else: %w", q.Tool, err)
	}
	q.Step.tellDecision(made)
	if made.Approved {
		return nil
	}
	return &Denied{Tool: q.Tool, Reason: made.Reason, Expired: made.Expired}
}

// tellDecision says in the step what was decided, and by whom if somebody was asked.
func (s *Step) tellDecision(made beeos.Approved) {
	came := beeos.StepDenied
	switch {
	case made.Approved && made.ID == "":
		s.Set(beeos.StepApproval, beeos.WentByItself)
		return
	case made.Approved:
		came = beeos.StepApproved
	case made.Expired:
		came = beeos.StepUndecided
	}
	s.Set(beeos.StepApproval, came)
	if made.By != "" {
		s.Set(beeos.StepDecidedBy, made.By)
	}
}
