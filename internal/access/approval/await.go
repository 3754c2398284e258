package approval

import (
	"context"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store/approvals"
)

// awaitDecision takes one tool call from the rules to the decision. It returns
// at once when the rules let the call pass. Otherwise it calls wait with the
// open approval, and wait returns when somebody has decided, time has run out
// or ctx is over. An approval is used up by the time awaitDecision returns.
// When the rules change meanwhile, the call is judged again by the new ones.
func (s *Approvals) awaitDecision(ctx context.Context, call ToolCall, wait func(a approvals.Approval, fresh bool) (approvals.Approval, error)) (beeos.Approved, error) {
	for {
		r, err := s.findRule(ctx, &call)
		if err != nil {
			return beeos.Approved{}, err
		}
		if r.auto {
			return beeos.Approved{Approved: true, By: "policy"}, nil
		}
		a, fresh, err := s.storeRequest(ctx, &call, r)
		if err == nil && a.Open() {
			a, err = wait(a, fresh)
		}
		if err != nil {
			return beeos.Approved{}, err
		}
		switch {
		case a.State == approvals.Approved:
			err := s.useUp(ctx, a.ID, call)
			if err == nil {
				return beeos.Approved{Approved: true, ID: a.ID, By: a.DecidedBy, Reason: a.Reason}, nil
			}
			if beeos.CodeOf(err) != beeos.Forbidden {
				return beeos.Approved{}, err
			} // it has expired or its rule has changed since: ask again
		case a.State == approvals.Withdrawn && a.Via == viaRules: // judge it again
		default:
			return beeos.Approved{ID: a.ID, By: a.DecidedBy, Reason: a.Reason, Expired: a.State == approvals.Expired}, nil
		}
	}
}

// storeRequest asks for an approval, unless it has been asked for already.
func (s *Approvals) storeRequest(ctx context.Context, call *ToolCall, r rule) (a approvals.Approval, fresh bool, err error) {
	now := s.Now()
	expires := now.Add(r.timeout)
	if !call.Deadline.IsZero() && call.Deadline.Before(expires) {
		expires = call.Deadline
	}
	arguments, hash := call.canonicalArguments()
	asked := approvals.Approval{
		ID: beeos.NewID(), OwnerID: call.Agent.OwnerID, AgentID: call.Agent.ID, Caller: call.Caller, Channel: call.Channel, Turn: call.Turn,
		Skill: call.Skill, Tool: call.Tool, Arguments: arguments, Hash: hash, PolicyVersion: r.version,
		CreatedAt: now, ExpiresAt: expires,
	}
	setReview(&asked, &r.named)
	a, fresh, err = s.Table.Ask(ctx, asked, call.Request)
	if fresh {
		s.announceChange(a.ID)
	}
	return a, fresh, err
}

// useUp uses an approval up, once and for exactly this call. An approval of
// other arguments, by other rules or from long ago is Forbidden.
func (s *Approvals) useUp(ctx context.Context, id string, call ToolCall) error {
	r, err := s.findRule(ctx, &call) // as it is now, not as it was when somebody was asked
	if err != nil {
		return err
	}
	_, hash := call.canonicalArguments()
	if err = s.Table.Use(ctx, id, hash, r.version, call.Request, s.Now()); err == nil {
		s.announceChange(id)
	}
	return err
}
