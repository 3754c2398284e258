package approval

import (
	"context"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store/approvals"
)

// Decider is who decides, and from where.
type Decider struct {
	User beeos.User // who is signed in, or whose key this is
	Via  string     // console, rest, mcp, conversation

	link string // the approval that a link is for
}

// maxReason bounds what people may write, in bytes.
const maxReason = 2000

// maySee reports whether an approval is this person's to see and to decide: it
// is about an agent of theirs, or they are an admin.
func (by *Decider) maySee(a *approvals.Approval) bool {
	if by.link != "" {
		return by.link == a.ID
	}
	return by.User.ID != "" && by.User.DisabledAt.IsZero() && (by.User.ID == a.OwnerID || by.User.Admin)
}

func (by *Decider) name() string {
	if by.User.ID != "" {
		return "user:" + by.User.ID
	}
	return "link"
}

// Find returns an approval that the person may see; to them, no other exists.
func (s *Approvals) Find(ctx context.Context, id string, by Decider) (approvals.Approval, error) {
	a, err := s.Table.Get(ctx, id)
	if err == nil && !by.maySee(&a) {
		err = beeos.Errorf(beeos.NotFound, "there is no such approval; check the id")
	}
	if err != nil {
		return approvals.Approval{}, err
	}
	if a.Open() && !a.ExpiresAt.After(s.Now()) {
		return s.expire(ctx, id)
	}
	return a, nil
}

// Decide approves or rejects, once: a second decision is a Conflict and returns
// the first.
func (s *Approvals) Decide(ctx context.Context, id string, by Decider, approve bool, reason string) (approvals.Approval, error) {
	reason = strings.TrimSpace(reason)
	if len(reason) > maxReason || !utf8.ValidString(reason) {
		return approvals.Approval{}, beeos.Errorf(beeos.InvalidParam, "the reason may have at most %d bytes of UTF-8", maxReason)
	}
	a, err := s.Find(ctx, id, by)
	if err != nil {
		return a, err
	}
	if !a.Open() {
		return a, alreadyDecided(&a)
	}
	v := approvals.Verdict{ID: id, State: approvals.Rejected, By: by.name(), Via: by.Via, Reason: reason, At: s.Now()}
	if approve {
		v.State = approvals.Approved
	}
	a, won, err := s.Table.Decide(ctx, v)
	if err != nil {
		return a, err
	}
	if won {
		s.announceChange(a.ID)
		if approve && strings.HasPrefix(a.Turn, approvals.BudgetTurn) {
			err = s.liftBudget(ctx, &a)
		}
		return a, err
	}
	if a.Open() { // its time ran out in between
		if a, err = s.expire(ctx, id); err != nil {
			return a, err
		}
	}
	return a, alreadyDecided(&a)
}

// alreadyDecided is the error for whoever comes second.
func alreadyDecided(a *approvals.Approval) error {
	switch a.State {
	case approvals.Approved, approvals.Rejected:
		return beeos.Errorf(beeos.Conflict, "this was %s already, at %s; the first decision counts", a.State, a.DecidedAt.UTC().Format("2006-01-02 15:04:05 MST"))
	case approvals.Expired:
		return beeos.Errorf(beeos.Conflict, "nobody decided in time, so this was rejected; the agent has to ask again")
	}
	return beeos.Errorf(beeos.Conflict, "nobody waits for this any more: %s", a.Reason)
}

// Open lists the approvals that wait for an owner, newest first.
func (s *Approvals) Open(ctx context.Context, ownerID string, limit int) ([]approvals.Approval, error) {
	list, err := s.Table.List(ctx, approvals.Filter{OwnerID: ownerID, Open: new(true), Limit: limit})
	now := s.Now()
	return slices.DeleteFunc(list, func(a approvals.Approval) bool {
		return !a.ExpiresAt.After(now) // it is about to be swept
	}), err
}

// History lists what was decided, newest first; before is the id to continue
// from.
func (s *Approvals) History(ctx context.Context, ownerID, before string, limit int) ([]approvals.Approval, error) {
	return s.Table.List(ctx, approvals.Filter{OwnerID: ownerID, Open: new(false), Before: before, Limit: limit})
}
