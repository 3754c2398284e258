package approval

import (
	"context"
	"strings"
	"unicode/utf8"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store"
)

// Decider is who decides, and from where.
type Decider struct {
	User beeos.User // who is signed in, or whose key this is
	Via  string     // console, rest, mcp, conversation

	link string // the approval that a link is for
}

// maxReason bounds what people may write, in bytes.
const maxReason = 2000

// maySee reports whether an approval is this person's to see and to decide: it is
// about an agent of theirs, or they are an admin.
func (by *Decider) maySee(a *store.Approval) bool {
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
func (s *Approvals) Find(ctx context.Context, id string, by Decider) (store.Approval, error) {
	a, err := s.DB.Approval(ctx, id)
	if err == nil && !by.maySee(&a) {
		err = beeos.Errorf(beeos.NotFound, "there is no such approval; check the id")
	}
	if err != nil {
		return store.Approval{}, err
	}
	if a.Open() && !a.ExpiresAt.After(s.Now()) {
		return s.expire(ctx, id)
	}
	return a, nil
}

// Decide approves or rejects, once: a second decision is a Conflict and returns
// the first.
func (s *Approvals) Decide(ctx context.Context, id string, by Decider, approve bool, reason string) (store.Approval, error) {
	reason = strings.TrimSpace(reason)
	if len(reason) > maxReason || !utf8.ValidString(reason) {
		return store.Approval{}, beeos.Errorf(beeos.InvalidParam, "the reason may have at most %d bytes of UTF-8", maxReason)
	}
	a, err := s.Find(ctx, id, by)
	if err != nil {
		return a, err
	}
	if !a.Open() {
		return a, alreadyDecided(&a)
	}
	v := store.Verdict{ID: id, State: store.ApprovalRejected, By: by.name(), Via: by.Via, Reason: reason, At: s.Now()}
	if approve {
		v.State = store.ApprovalApproved
	}
	a, won, err := s.DB.DecideApproval(ctx, v)
	if err != nil {
		return a, err
	}
	if won {
		s.notifyNodes(a.ID)
		return a, nil
	}
	if a.Open() { // its time ran out in between
		if a, err = s.expire(ctx, id); err != nil {
			return a, err
		}
	}
	return a, alreadyDecided(&a)
}

// alreadyDecided is the error for whoever comes second.
func alreadyDecided(a *store.Approval) error {
	switch a.State {
	case store.ApprovalApproved, store.ApprovalRejected:
		return beeos.Errorf(beeos.Conflict, "this was %s already, at %s; the first decision counts", a.State, a.DecidedAt.UTC().Format("2006-01-02 15:04:05 MST"))
	case store.ApprovalExpired:
		return beeos.Errorf(beeos.Conflict, "nobody decided in time, so this was rejected; the agent has to ask again")
	}
	return beeos.Errorf(beeos.Conflict, "nobody waits for this any more: %s", a.Reason)
}

// Open lists the approvals that wait for an owner, newest first.
func (s *Approvals) Open(ctx context.Context, ownerID string, limit int) ([]store.Approval, error) {
	open := true
	list, err := s.DB.Approvals(ctx, store.ApprovalFilter{OwnerID: ownerID, Open: &open, Limit: limit})
	if err != nil {
		return nil, err
	}
	now := s.Now()
	kept := list[:0]
	for _, a := range list {
		if a.ExpiresAt.After(now) { // else it is about to be swept
			kept = append(kept, a)
		}
	}
	return kept, nil
}

// History lists what was decided, newest first; before is the id to continue
// from.
func (s *Approvals) History(ctx context.Context, ownerID, before string, limit int) ([]store.Approval, error) {
	open := false
	return s.DB.Approvals(ctx, store.ApprovalFilter{OwnerID: ownerID, Open: &open, Before: before, Limit: limit})
}
