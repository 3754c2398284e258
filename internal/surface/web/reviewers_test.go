package web

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/access/approval"
	"github.com/beeos/beeos/internal/store/approvals"
	"github.com/beeos/beeos/internal/store/storetest"
)

// asksReviewers lets an agent ask for a tool call that people decide about.
func (k *stack) asksReviewers(a *beeos.Agent, need int, only bool, reviewers ...beeos.User) approvals.Approval {
	k.t.Helper()
	q := storetest.Question(a.OwnerID, beeos.NewID(), `{"name": "a.csv"}`, time.Now())
	q.AgentID, q.Skill, q.Need, q.OnlyReviewers, q.ExpiresAt = a.ID, "files", need, only, q.CreatedAt.Add(approval.Timeout)
	for _, u := range reviewers {
		q.Reviewers = append(q.Reviewers, approvals.Reviewer{UserID: u.ID, Since: q.CreatedAt})
	}
	row, _, err := k.db.Approvals.Ask(k.t.Context(), q, "r")
	if err != nil {
		k.t.Fatal(err)
	}
	return row
}

// TestReviewersInbox: who decides sees it with buttons, how many have said yes, and no
// button for a second yes; the owner who has no say looks on.
func TestReviewersInbox(t *testing.T) {
	k := newStack(t)
	ann, bob, carol, dan := k.user("Ann", false), k.user("Bob", false), k.user("Carol", false), k.user("Dan", false)
	a := k.asksReviewers(k.agents(ann, 1)[0], 2, true, bob, carol)
	owner, him, her := k.signedIn(ann), k.signedIn(bob), k.signedIn(carol)
	if page := owner.get("/approvals").body; !strings.Contains(page, a.ID) || !strings.Contains(page, "Reviewers decide about this") || strings.Contains(page, "data-approve") || strings.Contains(page, `class="badge"`) {
		t.Errorf("the owner, who only looks: %s", page)
	}
	if res := owner.post("/approvals/"+a.ID+"/approve", url.Values{}); res.status != http.StatusForbidden {
		t.Errorf("the owner's yes: %d", res.status)
	}
	if strings.Contains(k.signedIn(dan).get("/approvals").body, a.ID) {
		t.Error("a stranger sees it")
	}
	if page := him.get("/approvals").body; !strings.Contains(page, "data-approve") || !strings.Contains(page, "0 of 2 said yes") || !strings.Contains(page, `<span class="badge">1<`) || strings.Contains(page, `name="for"`) {
		t.Errorf("a reviewer: %s", page)
	}
	if !strings.Contains(him.get("/").body, "wants to call files / save_csv") {
		t.Error("Home of a reviewer does not say that something waits")
	}
	if res := him.post("/approvals/"+a.ID+"/approve", url.Values{}); res.location() != "/approvals?did=voted" || k.state(a.ID) != approvals.Pending {
		t.Errorf("a first yes: %d %s", res.status, res.location())
	}
	if page := him.get("/approvals").body; strings.Contains(page, "data-approve") || !strings.Contains(page, "You have said yes") || !strings.Contains(page, "data-reject") || strings.Contains(page, `class="badge"`) {
		t.Errorf("who has said yes: %s", page)
	}
	if res := her.post("/approvals/"+a.ID+"/approve", url.Values{}); res.location() != "/approvals?did=approved" || k.state(a.ID) != approvals.Approved {
		t.Errorf("the last yes: %d %s", res.status, res.location())
	}
	for _, b := range []*browser{owner, him, her} {
		if !strings.Contains(b.get("/approvals/history").body, a.ID) {
			t.Error("the history lacks it")
		}
	}
}

// TestLinkIsOneVote: the page behind a link says that a yes is counted, once.
func TestLinkIsOneVote(t *testing.T) {
	k := newStack(t)
	ann, bob, carol := k.user("Ann", false), k.user("Bob", false), k.user("Carol", false)
	a := k.asksReviewers(k.agents(ann, 1)[0], 2, true, bob, carol)
	link, err := k.desk.Link(t.Context(), &a, bob.ID)
	if err != nil {
		t.Fatal(err)
	}
	visitor := k.browser()
	token := form(visitor.get(link).body, "main").Get("token")
	for range 2 {
		if res := visitor.post("/approve", url.Values{"token": {token}, "decision": {"approve"}}); res.status != http.StatusOK || !strings.Contains(res.body, "1 of 2 people have said yes") || k.state(a.ID) != approvals.Pending {
			t.Errorf("%d %s", res.status, res.body)
		}
	}
	if res := k.signedIn(bob).post("/approve", url.Values{"token": {token}, "decision": {"approve"}}); res.status != http.StatusOK || k.state(a.ID) != approvals.Pending {
		t.Errorf("the same person, signed in: %d %s", res.status, res.body)
	}
	if err := k.db.People.Lock(t.Context(), bob.ID, time.Now()); err != nil {
		t.Fatal(err)
	}
	if res := visitor.post("/approve", url.Values{"token": {token}, "decision": {"approve"}}); res.status != http.StatusNotFound {
		t.Errorf("the link of who is locked out: %d", res.status)
	}
}

// TestApprovedForLonger: it is shown below what waits, until somebody revokes it.
func TestApprovedForLonger(t *testing.T) {
	k := newStack(t)
	ann, bob := k.user("Ann", false), k.user("Bob", false)
	agent := k.agents(ann, 1)[0]
	a, b := k.asksReviewers(agent, 1, false), k.asksReviewers(agent, 1, false)
	me := k.signedIn(ann)
	if page := me.get("/approvals").body; !strings.Contains(page, `name="for"`) || strings.Contains(page, "Approved for longer") {
		t.Errorf("%s", page)
	}
	if res := me.post("/approvals/"+a.ID+"/approve", url.Values{"for": {"ever"}}); res.status != http.StatusBadRequest || k.state(a.ID) != approvals.Pending {
		t.Errorf("for ever: %d", res.status)
	}
	for id, span := range map[string]string{a.ID: "15", b.ID: "conversation"} {
		if res := me.post("/approvals/"+id+"/approve", url.Values{"for": {span}}); res.location() != "/approvals?did=approved" {
			t.Errorf("for %s: %d %s", span, res.status, res.body)
		}
	}
	page := me.get("/approvals").body
	for _, want := range []string{"Approved for longer", "the same arguments", "any arguments, in one conversation"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	list, err := k.db.Approvals.ListGrants(t.Context(), approvals.GrantFilter{PersonID: ann.ID}, time.Now())
	if err != nil || len(list) != 2 {
		t.Fatalf("%+v, %v", list, err)
	}
	revoke := "/approvals/grants/" + list[0].ID + "/revoke"
	if res := k.signedIn(bob).post(revoke, url.Values{}); res.status != http.StatusNotFound {
		t.Errorf("a stranger's: %d", res.status)
	}
	if res := me.post(revoke, url.Values{}); res.location() != "/approvals?did=grant-gone" {
		t.Errorf("%d %s", res.status, res.body)
	}
	if page := me.get("/approvals").body; strings.Contains(page, list[0].ID) || !strings.Contains(page, list[1].ID) {
		t.Error("it is still shown, or the other is gone")
	}
	if res := me.get(revoke); res.location() != "/approvals" {
		t.Errorf("the form's address: %d", res.status)
	}
}

// TestReviewersOnAccessPage: the owner names people by their e-mail addresses; a form that
// does not ask leaves them.
func TestReviewersOnAccessPage(t *testing.T) {
	k := newStack(t)
	ann, bob := k.user("Ann", false), k.user("Bob", false)
	agent := k.agents(ann, 1)[0]
	me, path := k.signedIn(ann), "/agents/"+agent.ID+"/approvals"
	set := url.Values{"all": {"ask"}, "minutes": {""}, "reviewers": {"bob@example.com, ann@example.com"}, "second_reviewers": {""}, "votes": {"2"}, "only_reviewers": {"on"}}
	if res := me.post(path, set); res.status != http.StatusSeeOther {
		t.Fatalf("%d %s", res.status, res.body)
	}
	rules, err := k.db.Approvals.ListRules(t.Context(), agent.ID)
	if err != nil || len(rules) != 1 || rules[0].Review == nil || rules[0].Review.Need != 2 || len(rules[0].Review.Reviewers) != 2 || !rules[0].Review.Only || rules[0].Review.NotCaller {
		t.Fatalf("%+v %v", rules, err)
	}
	if page := me.get("/agents/" + agent.ID + "/access").body; !strings.Contains(page, bob.Email) || !strings.Contains(page, "Who decides") {
		t.Error("the page does not show who decides")
	}
	for _, bad := range []url.Values{
		{"all": {"ask"}, "reviewers": {"nobody@example.com"}}, {"all": {"ask"}, "reviewers": {""}, "only_reviewers": {"on"}}, {"all": {"ask"}, "reviewers": {"bob@example.com"}, "votes": {"x"}},
	} {
		if res := me.post(path, bad); res.status != http.StatusBadRequest {
			t.Errorf("%v: %d", bad, res.status)
		}
	}
	if res := me.post(path, url.Values{"all": {"ask"}}); res.status != http.StatusSeeOther {
		t.Fatal(res.status)
	}
	if rules, err = k.db.Approvals.ListRules(t.Context(), agent.ID); err != nil || rules[0].Review == nil {
		t.Errorf("a form that does not ask: %+v %v", rules, err)
	}
	if res := me.post(path, url.Values{"all": {"ask"}, "reviewers": {""}}); res.status != http.StatusSeeOther {
		t.Fatal(res.status)
	}
	if rules, err = k.db.Approvals.ListRules(t.Context(), agent.ID); err != nil || rules[0].Review != nil {
		t.Errorf("the owner again: %+v %v", rules, err)
	}
}
