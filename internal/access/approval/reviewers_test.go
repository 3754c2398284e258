package approval

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store/approvals"
)

// person makes an account.
func (r *rig) person(id string) beeos.User {
	r.t.Helper()
	u := beeos.User{ID: id, Email: id + "@console.example", Name: id}
	if err := r.DB.People.CreateUser(r.t.Context(), u); err != nil {
		r.t.Fatal(err)
	}
	return u
}

// review lets people decide about all calls of the agent.
func (r *rig) review(review approvals.Review) {
	r.t.Helper()
	if err := r.SetRules(r.t.Context(), r.agent, r.owner, []approvals.Rule{{Mode: approvals.ModeAsk, Review: &review}}); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) as(id string) Decider {
	r.t.Helper()
	u, err := r.People.GetUser(r.t.Context(), id)
	if err != nil {
		r.t.Fatal(err)
	}
	return Decider{User: u, Via: "rest"}
}

func tokenOf(t *testing.T, link string) string {
	t.Helper()
	u, err := url.Parse(link)
	if err != nil || u.Query().Get("token") == "" {
		t.Fatalf("%q, %v", link, err)
	}
	return u.Query().Get("token")
}

func TestReviewersDecide(t *testing.T) {
	for name, c := range map[string]struct {
		review approvals.Review
		caller string
		by     beeos.User
		want   beeos.Code
	}{
		"a reviewer":                  {approvals.Review{Reviewers: []string{"bob"}}, "user:caller", beeos.User{ID: "bob"}, ""},
		"the owner beside reviewers":  {approvals.Review{Reviewers: []string{"bob"}}, "user:caller", beeos.User{ID: "ann"}, ""},
		"an admin beside reviewers":   {approvals.Review{Reviewers: []string{"bob"}}, "user:caller", beeos.User{ID: "boss", Admin: true}, ""},
		"somebody else":               {approvals.Review{Reviewers: []string{"bob"}}, "user:caller", beeos.User{ID: "carol"}, beeos.NotFound},
		"the owner, who only looks":   {approvals.Review{Reviewers: []string{"bob"}, Only: true}, "user:caller", beeos.User{ID: "ann"}, beeos.Forbidden},
		"an admin, who only looks":    {approvals.Review{Reviewers: []string{"bob"}, Only: true}, "user:caller", beeos.User{ID: "boss", Admin: true}, beeos.Forbidden},
		"a reviewer who calls":        {approvals.Review{Reviewers: []string{"bob"}, NotCaller: true}, "user:bob", beeos.User{ID: "bob"}, beeos.Forbidden},
		"the owner, about a caller":   {approvals.Review{Reviewers: []string{"bob"}, NotCaller: true}, "user:bob", beeos.User{ID: "ann"}, ""},
		"the owner who calls":         {approvals.Review{Reviewers: []string{"bob"}, NotCaller: true}, "user:ann", beeos.User{ID: "ann"}, beeos.Forbidden},
		"the owner whose key calls":   {approvals.Review{Reviewers: []string{"bob"}, NotCaller: true}, "key:k", beeos.User{ID: "ann"}, beeos.Forbidden},
		"an admin who calls":          {approvals.Review{Reviewers: []string{"bob"}, NotCaller: true}, "user:boss", beeos.User{ID: "boss", Admin: true}, beeos.Forbidden},
		"a second reviewer, too soon": {approvals.Review{Second: []string{"bob"}}, "user:caller", beeos.User{ID: "bob"}, beeos.NotFound},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.person("bob")
			r.review(c.review)
			call := r.call(`{}`)
			call.Caller = c.caller
			a, err := r.ask(call)
			if err != nil {
				t.Fatal(err)
			}
			_, err = r.Decide(t.Context(), a.ID, Decider{User: c.by, Via: "rest"}, true, "")
			if (c.want == "") != (err == nil) || err != nil && beeos.CodeOf(err) != c.want {
				t.Error(err)
			}
		})
	}
}

// TestSeveralHaveToSayYes: each is told so, one no ends it, and the call goes ahead with
// the last yes.
func TestSeveralHaveToSayYes(t *testing.T) {
	r := newRig(t)
	r.person("bob")
	r.person("carol")
	r.review(approvals.Review{Reviewers: []string{"bob", "carol"}, Need: 2, Only: true})
	a := r.request(`{}`)
	for range 2 {
		if got, err := r.Decide(t.Context(), a.ID, r.as("bob"), true, ""); err != nil || !got.Open() || got.Yes != 1 || got.Need != 2 {
			t.Fatalf("a first yes: %+v, %v", got, err)
		}
	}
	if got, err := r.Decide(t.Context(), a.ID, r.as("carol"), true, ""); err != nil || got.State != approvals.Approved {
		t.Fatalf("the last yes: %+v, %v", got, err)
	}
	if err := r.useUp(t.Context(), a.ID, r.call(`{}`)); err != nil {
		t.Error(err)
	}
	b := r.request(`[]`)
	if _, err := r.Decide(t.Context(), b.ID, r.as("bob"), true, ""); err != nil {
		t.Fatal(err)
	}
	if got, err := r.Decide(t.Context(), b.ID, r.as("carol"), false, "no"); err != nil || got.State != approvals.Rejected {
		t.Errorf("a no after a yes: %+v, %v", got, err)
	}
}

// TestLinkOfAnExReviewer: a link decides for whom it was made for, and only while they may.
func TestLinkOfAnExReviewer(t *testing.T) {
	r := newRig(t)
	r.person("bob")
	r.person("carol")
	r.person("dan")
	r.review(approvals.Review{Reviewers: []string{"bob", "carol"}, Need: 2, Only: true})
	a := r.request(`{}`)
	if _, err := r.Link(t.Context(), &a, "ann"); beeos.CodeOf(err) != beeos.Forbidden {
		t.Errorf("a link for the owner, who has no say: %v", err)
	}
	if link, err := r.LinkFor(t.Context(), a.ID, a.Turn, "user:ann"); err != nil || link != "" {
		t.Errorf("a message for the owner has a link: %q, %v", link, err)
	}
	tokens := map[string]string{}
	for _, id := range []string{"bob", "carol"} {
		link, err := r.LinkFor(t.Context(), a.ID, a.Turn, "user:"+id)
		if err != nil {
			t.Fatal(err)
		}
		tokens[id] = tokenOf(t, link)
	}
	by, _, err := r.FindByLink(t.Context(), tokens["bob"])
	if err != nil || !by.IsFor("bob") || by.IsFor("carol") || by.IsFor("") {
		t.Fatalf("%+v, %v", by, err)
	}
	for range 2 { // one link is one person, however often
		if got, err := r.Decide(t.Context(), a.ID, by, true, ""); err != nil || !got.Open() || got.Yes != 1 {
			t.Fatalf("%+v, %v", got, err)
		}
	}
	if got, err := r.Decide(t.Context(), a.ID, r.as("bob"), true, ""); err != nil || got.Yes != 1 {
		t.Errorf("the same person, signed in: %+v, %v", got, err)
	}
	r.review(approvals.Review{Reviewers: []string{"bob", "dan"}, Need: 2, Only: true})
	if _, got, err := r.FindByLink(t.Context(), tokens["carol"]); beeos.CodeOf(err) != beeos.NotFound || got.ID != "" {
		t.Errorf("the link of who is no reviewer any more: %+v, %v", got, err)
	}
	if _, err := r.Find(t.Context(), a.ID, r.as("carol")); beeos.CodeOf(err) != beeos.NotFound {
		t.Errorf("who is no reviewer any more sees it: %v", err)
	}
	if _, got, err := r.FindByLink(t.Context(), tokens["bob"]); err != nil || got.State != approvals.Withdrawn {
		t.Errorf("what was asked by the old rule: %+v, %v", got, err)
	}
	b := r.request(`{}`)
	link, err := r.LinkFor(t.Context(), b.ID, b.Turn, "user:dan")
	if err != nil || b.ID == a.ID {
		t.Fatal(link, err)
	}
	if err := r.People.Lock(t.Context(), "dan", r.now); err != nil {
		t.Fatal(err)
	}
	if _, got, err := r.FindByLink(t.Context(), tokenOf(t, link)); beeos.CodeOf(err) != beeos.NotFound || got.ID != "" {
		t.Errorf("the link of who is locked out: %+v, %v", got, err)
	}
}

// TestLinkThatNamesNobody, as versions before reviewers made them, is the owner's.
func TestLinkThatNamesNobody(t *testing.T) {
	r := newRig(t)
	a := r.request(`{}`)
	link, err := r.signAddress(t.Context(), &a, "")
	if err != nil {
		t.Fatal(err)
	}
	if by, _, err := r.FindByLink(t.Context(), tokenOf(t, link)); err != nil || !by.IsFor("ann") {
		t.Errorf("%+v, %v", by, err)
	}
}

// TestCloserReviewersDecide: those of the tool before those of the agent, and a change of
// theirs asks again.
func TestCloserReviewersDecide(t *testing.T) {
	r := newRig(t)
	r.person("bob")
	r.person("carol")
	r.review(approvals.Review{Reviewers: []string{"bob"}, Only: true})
	first := r.request(`{}`)
	if err := r.SetRules(t.Context(), r.agent, r.owner, []approvals.Rule{{Tool: "pay", Review: &approvals.Review{Reviewers: []string{"carol"}, Only: true}}}); err != nil {
		t.Fatal(err)
	}
	if a, err := r.Table.Get(t.Context(), first.ID); err != nil || a.State != approvals.Withdrawn || a.Via != viaRules {
		t.Errorf("%+v, %v", a, err)
	}
	a := r.request(`{}`)
	if _, err := r.Decide(t.Context(), a.ID, r.as("bob"), true, ""); beeos.CodeOf(err) != beeos.NotFound {
		t.Errorf("the agent's reviewer about a tool with its own: %v", err)
	}
	if _, err := r.Decide(t.Context(), a.ID, r.as("carol"), true, ""); err != nil {
		t.Error(err)
	}
	if err := r.useUp(t.Context(), a.ID, r.call(`{}`)); err != nil {
		t.Error(err)
	}
}

func TestBadReviews(t *testing.T) {
	r := newRig(t)
	for name, review := range map[string]approvals.Review{
		"reviewers alone, and none":  {Only: true},
		"later reviewers alone":      {Only: true, Second: []string{"bob"}},
		"not the caller, and none":   {NotCaller: true},
		"more than there are":        {Reviewers: []string{"bob"}, Need: 3},
		"more than there are, alone": {Reviewers: []string{"bob", "bob"}, Only: true, Need: 2},
		"a negative number":          {Reviewers: []string{"bob"}, Need: -1},
		"too many":                   {Reviewers: strings.Fields(strings.Repeat("x y z ", 10) + "a b c d e f g h i j k l m n o p q r")},
	} {
		err := r.SetRules(t.Context(), r.agent, r.owner, []approvals.Rule{{Review: &review}})
		if beeos.CodeOf(err) != beeos.InvalidParam {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestSecondReviewersAreAskedAtHalfTime, and lists have it for them from then on.
func TestSecondReviewersAreAskedAtHalfTime(t *testing.T) {
	r := newRig(t)
	r.person("bob")
	r.review(approvals.Review{Second: []string{"bob"}})
	a := r.request(`{}`)
	open := func() int {
		list, err := r.Open(t.Context(), "bob", 10)
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	if open() != 0 {
		t.Error("asked at once")
	}
	r.now = r.now.Add(Timeout/2 + time.Millisecond)
	if open() != 1 {
		t.Error("not asked at half time")
	}
	if got, err := r.Decide(t.Context(), a.ID, r.as("bob"), true, ""); err != nil || got.DecidedBy != "user:bob" {
		t.Errorf("%+v, %v", got, err)
	}
}
