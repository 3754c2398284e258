package approval

import (
	"context"
	"slices"
	"strings"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store/approvals"
)

// maxReviewers bounds whom one rule names, at first and later.
const maxReviewers = 20

// checkReview checks who is to decide by a rule, and puts it into the one form in
// which the same people are the same rule.
func checkReview(r *approvals.Review, ownerID string) error {
	if r == nil {
		return nil
	}
	r.Reviewers, r.Second = slices.Compact(slices.Sorted(slices.Values(r.Reviewers))), slices.Compact(slices.Sorted(slices.Values(r.Second)))
	r.Second = slices.DeleteFunc(r.Second, func(id string) bool { return slices.Contains(r.Reviewers, id) })
	may := slices.Concat(r.Reviewers, r.Second)
	if !r.Only && !slices.Contains(may, ownerID) {
		may = append(may, ownerID)
	}
	switch {
	case len(r.Reviewers)+len(r.Second) > maxReviewers:
		return beeos.Errorf(beeos.InvalidParam, "a rule may name at most %d reviewers", maxReviewers)
	case r.Only && len(r.Reviewers) == 0:
		return beeos.Errorf(beeos.InvalidParam, "only reviewers are to decide, and none is named; name one")
	case r.NotCaller && len(r.Reviewers)+len(r.Second) == 0:
		return beeos.Errorf(beeos.InvalidParam, "the caller is not to decide, and nobody else is named; name a reviewer")
	case r.Need < 0 || r.Need > len(may):
		return beeos.Errorf(beeos.InvalidParam, "%d people have to say yes, and there are %d who may; name more reviewers, or ask for fewer", r.Need, len(may))
	}
	if r.Need == 1 {
		r.Need = 0 // as without a word about it
	}
	return nil
}

// setReview says of a question who is to decide about it, as its rule says now.
func setReview(a *approvals.Approval, by *approvals.Rule) {
	if by.Review == nil {
		return
	}
	a.Need, a.OnlyReviewers = by.Review.Need, by.Review.Only
	if by.Review.NotCaller {
		a.Barred = madeFor(a)
	}
	for _, id := range by.Review.Reviewers {
		a.Reviewers = append(a.Reviewers, approvals.Reviewer{UserID: id, Since: a.CreatedAt, Skill: by.Skill, Tool: by.Tool})
	}
	half := a.CreatedAt.Add(a.ExpiresAt.Sub(a.CreatedAt) / 2)
	for _, id := range by.Review.Second {
		a.Reviewers = append(a.Reviewers, approvals.Reviewer{UserID: id, Since: half, Skill: by.Skill, Tool: by.Tool})
	}
}

// madeFor is the person on whose behalf a call runs. The key of an agent is its
// owner's, whoever was given it.
func madeFor(a *approvals.Approval) string {
	if id, person := strings.CutPrefix(a.Caller, "user:"); person {
		return id
	}
	return a.OwnerID
}

// Standing is what a person may do with an approval.
type Standing struct {
	MaySee     bool // owner, admin or reviewer
	MayDecide  bool // and its rule does not leave them out
	AsReviewer bool // because a rule names them, and for no other reason
	Voted      bool // they have said yes
}

// standing tells how a person stands to an approval.
func (s *Approvals) standing(ctx context.Context, u *beeos.User, a *approvals.Approval) (Standing, error) {
	all, err := s.Standings(ctx, u, []approvals.Approval{*a})
	if err != nil {
		return Standing{}, err
	}
	return all[0], nil
}

// Standings tells how a person stands to each of some approvals.
func (s *Approvals) Standings(ctx context.Context, u *beeos.User, list []approvals.Approval) ([]Standing, error) {
	ids, all := make([]string, len(list)), make([]Standing, len(list))
	for i := range list {
		ids[i] = list[i].ID
	}
	if u.ID == "" || !u.DisabledAt.IsZero() {
		return all, nil
	}
	known, err := s.Table.Standings(ctx, u.ID, ids, s.Now())
	if err != nil {
		return nil, err
	}
	for i := range list {
		a, k := &list[i], known[list[i].ID]
		rules := u.ID == a.OwnerID || u.Admin
		asOwner := rules && !a.OnlyReviewers
		all[i] = Standing{
			MaySee: rules || k.Reviewer, MayDecide: u.ID != a.Barred && (asOwner || k.Reviewer), AsReviewer: !asOwner, Voted: k.Voted,
		}
	}
	return all, nil
}

// callerDecides reports whether the caller of a turn is a person who may decide about a
// tool call in it.
func (s *Approvals) callerDecides(ctx context.Context, a *approvals.Approval) bool {
	id, person := strings.CutPrefix(a.Caller, "user:")
	if !person {
		return false
	}
	st, err := s.standing(ctx, &beeos.User{ID: id}, a)
	if err != nil {
		s.Log.Error("a caller is not offered the decision about an approval", "approval", a.ID, "err", err)
	}
	return err == nil && st.MayDecide
}
