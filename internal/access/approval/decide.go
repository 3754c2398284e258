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

	link   string     // the approval that a link is for
	linked beeos.User // whom the link was made for
}

// IsFor reports whether somebody decides by a link that was made for this user.
func (by *Decider) IsFor(userID string) bool { return userID != "" && by.linked.ID == userID }

// person is whose word it is.
func (by *Decider) person() *beeos.User {
	if by.User.ID != "" {
		return &by.User
	}
	return &by.linked
}

func (by *Decider) name() string {
	if by.User.ID != "" {
		return "user:" + by.User.ID
	}
	return "link"
}

// maxReason bounds what people may write, in bytes.
const maxReason = 2000

// Find returns an approval that the person may see; to them, no other exists.
func (s *Approvals) Find(ctx context.Context, id string, by Decider) (approvals.Approval, error) {
	a, _, err := s.find(ctx, id, &by)
	return a, err
}

func (s *Approvals) find(ctx context.Context, id string, by *Decider) (a approvals.Approval, st Standing, err error) {
	a, err = s.Table.Get(ctx, id)
	if err == nil {
		st, err = s.standing(ctx, by.person(), &a)
	}
	if err == nil && (!st.MaySee || by.link != "" && by.link != a.ID) {
		err = beeos.Errorf(beeos.NotFound, "there is no such approval; check the id")
	}
	if err != nil {
		return approvals.Approval{}, st, err
	}
	if a.Open() && !a.ExpiresAt.After(s.Now()) {
		a, err = s.expire(ctx, id)
	}
	return a, st, err
}

// Decide approves or rejects, once: a second decision is a Conflict and returns
// the first. A yes that others have to join is counted, and the approval stays open.
func (s *Approvals) Decide(ctx context.Context, id string, by Decider, approve bool, reason string) (approvals.Approval, error) {
	v := approvals.Verdict{ID: id, State: approvals.Rejected, Reason: reason}
	if approve {
		v.State = approvals.Approved
	}
	return s.decide(ctx, &by, v)
}

func (s *Approvals) decide(ctx context.Context, by *Decider, v approvals.Verdict) (approvals.Approval, error) {
	v.Reason = strings.TrimSpace(v.Reason)
	if len(v.Reason) > maxReason || !utf8.ValidString(v.Reason) {
		return approvals.Approval{}, beeos.Errorf(beeos.InvalidParam, "the reason may have at most %d bytes of UTF-8", maxReason)
	}
	a, st, err := s.find(ctx, v.ID, by)
	if err != nil {
		return a, err
	}
	if !a.Open() {
		return a, alreadyDecided(&a)
	}
	if !st.MayDecide {
		return a, refuseDecider(&a, by.person())
	}
	if v.Lasts.For > 0 {
		if err := checkLasts(&a, v.Lasts); err != nil {
			return a, err
		}
	}
	v.By, v.Via, v.UserID, v.AsReviewer, v.At = by.name(), by.Via, by.person().ID, st.AsReviewer, s.Now()
	a, won, err := s.Table.Decide(ctx, v)
	switch {
	case err != nil:
		return a, err
	case won:
		return a, s.finish(ctx, &a)
	case a.Open() && a.ExpiresAt.After(v.At): // counted
		s.announceChange(a.ID)
		return a, nil
	case a.Open(): // its time ran out in between
		if a, err = s.expire(ctx, a.ID); err != nil {
			return a, err
		}
	}
	return a, alreadyDecided(&a)
}

// finish does what a decision of a person brings with it.
func (s *Approvals) finish(ctx context.Context, a *approvals.Approval) error {
	s.announceChange(a.ID)
	if a.State == approvals.Approved && strings.HasPrefix(a.Turn, approvals.BudgetTurn) {
		return s.liftBudget(ctx, a)
	}
	return nil
}

// refuseDecider is the error for who sees an approval and has no say in it.
func refuseDecider(a *approvals.Approval, u *beeos.User) error {
	if u.ID == a.Barred {
		return beeos.Errorf(beeos.Forbidden, "the call is made for you, so its rule lets others decide; a reviewer has to")
	}
	return beeos.Errorf(beeos.Forbidden, "its rule lets reviewers alone decide; ask one of them")
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

// Open lists the approvals of a person's agents, and of those that they review, which
// wait for somebody, newest first.
func (s *Approvals) Open(ctx context.Context, userID string, limit int) ([]approvals.Approval, error) {
	now := s.Now()
	list, err := s.Table.List(ctx, approvals.Filter{PersonID: userID, At: now, Open: new(true), Limit: limit})
	return slices.DeleteFunc(list, func(a approvals.Approval) bool {
		return !a.ExpiresAt.After(now) // it is about to be swept
	}), err
}

// History lists what was decided, newest first; before is the id to continue
// from.
func (s *Approvals) History(ctx context.Context, userID, before string, limit int) ([]approvals.Approval, error) {
	return s.Table.List(ctx, approvals.Filter{PersonID: userID, At: s.Now(), Open: new(false), Before: before, Limit: limit})
}
