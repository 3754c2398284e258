package approval

import (
	"context"
	"strings"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store/approvals"
)

// MaxLasts is how long a yes may be for, at most.
const MaxLasts = 24 * time.Hour

// ApproveFor approves as Decide does, and answers what is asked later alike: the same
// call of the same caller for a while, or, whatever the arguments, in the same
// conversation, under the rule of now. It needs a decision that is one person's.
func (s *Approvals) ApproveFor(ctx context.Context, id string, by Decider, reason string, lasts approvals.Lasts) (approvals.Approval, error) {
	if lasts.Conversation && lasts.For == 0 {
		lasts.For = MaxLasts
	}
	if lasts.For < time.Minute || lasts.For > MaxLasts {
		return approvals.Approval{}, beeos.Errorf(beeos.InvalidParam, "a yes may be for 1 to %d minutes", int(MaxLasts/time.Minute))
	}
	return s.decide(ctx, &by, approvals.Verdict{ID: id, State: approvals.Approved, Reason: reason, Lasts: lasts})
}

// MayLast reports whether a yes to an approval may be for more than this call.
func MayLast(a *approvals.Approval) bool { return checkLasts(a, approvals.Lasts{}) == nil }

// checkLasts refuses what one person's yes cannot be for.
func checkLasts(a *approvals.Approval, lasts approvals.Lasts) error {
	switch {
	case strings.HasPrefix(a.Turn, approvals.BudgetTurn):
		return beeos.Errorf(beeos.InvalidParam, "this is about a budget, until its period ends; approve it without saying for how long")
	case a.Need > 1:
		return beeos.Errorf(beeos.InvalidParam, "%d people have to say yes to each call, so a yes cannot be for more than this one", a.Need)
	case lasts.Conversation && a.Channel == "":
		return beeos.Errorf(beeos.InvalidParam, "this was asked in no conversation; approve it for some minutes")
	}
	return nil
}

// Grants lists the yeses for more than one call that count now: those about agents of a
// person, and those that they gave.
func (s *Approvals) Grants(ctx context.Context, userID string) ([]approvals.Grant, error) {
	return s.Table.ListGrants(ctx, approvals.GrantFilter{PersonID: userID}, s.Now())
}

// RevokeGrant ends a grant. Whoever owns the agent may do so, whoever gave it, and
// admins; to others it does not exist.
func (s *Approvals) RevokeGrant(ctx context.Context, id string, u *beeos.User) error {
	f := approvals.GrantFilter{ID: id}
	if !u.Admin {
		f.PersonID = u.ID
	}
	none := beeos.Errorf(beeos.NotFound, "there is no such approval grant, or it has ended; list them to see which there are")
	if id == "" || u.ID == "" || !u.DisabledAt.IsZero() {
		return none
	}
	found, err := s.Table.ListGrants(ctx, f, s.Now())
	if err != nil {
		return err
	}
	if len(found) == 0 {
		return none
	}
	ended, err := s.Table.EndGrant(ctx, found[0], "user:"+u.ID, "revoked", s.Now())
	if err == nil && !ended {
		err = none
	}
	return err
}

// endOutdatedGrants ends the grants of an agent that were given under rules which no
// longer apply. They answer nothing any more; nobody should take them for what counts.
func (s *Approvals) endOutdatedGrants(ctx context.Context, agent *beeos.Agent) error {
	list, err := s.Table.ListGrants(ctx, approvals.GrantFilter{AgentID: agent.ID}, s.Now())
	if err != nil {
		return err
	}
	for _, g := range list {
		r, err := s.findRule(ctx, &ToolCall{Agent: agent, Skill: g.Skill, Tool: g.Tool})
		if err != nil {
			return err
		}
		if r.version != g.PolicyVersion {
			if _, err := s.Table.EndGrant(ctx, g, "system", "the rules changed", s.Now()); err != nil {
				return err
			}
		}
	}
	return nil
}
