package rest_test

import (
	"strings"
	"testing"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store/approvals"
	"github.com/beeos/beeos/internal/store/storetest"
)

// asksFor lets an agent ask for a tool call with arguments of its own, by the agent's rule.
func (s *stack) asksFor(agent string) string {
	s.t.Helper()
	q := storetest.Question(s.user, beeos.NewID(), `{"name": "a.csv"}`, s.now())
	q.AgentID, q.Caller, q.Hash, q.ExpiresAt = agent, "user:"+s.user, storetest.HashOf(beeos.NewID()), q.CreatedAt.Add(5*time.Minute)
	row, _, err := s.db.Approvals.Ask(s.t.Context(), q, "r")
	if err != nil {
		s.t.Fatal(err)
	}
	return row.ID
}

func reviewerOf(id string, since time.Time) approvals.Reviewer {
	return approvals.Reviewer{UserID: id, Since: since}
}

type approvalGrantJSON struct {
	ID, Tool, For string
	ApprovalID    string `json:"approval_id"`
	GivenBy       string `json:"given_by"`
	Conversation  string `json:"conversation_id"`
}

// grants makes a yes for more than one call of an agent.
func (s *stack) grants(agent string) string {
	s.t.Helper()
	id := s.asksFor(agent)
	ok[approvalJSON](s, "POST", "/api/v1/approvals/"+id+"/approve", `{"for":"same_arguments","minutes":15}`)
	for _, g := range ok[[]approvalGrantJSON](s, "GET", "/api/v1/approval-grants", "") {
		if g.ApprovalID == id {
			return g.ID
		}
	}
	s.t.Fatalf("the grant of %s is not listed", id)
	return ""
}

func TestApprovalGrants(t *testing.T) {
	s := start(t)
	id := s.grants(s.agent)
	s.audited("approval_grant.create", id)
	call := s.asksFor(s.agent)
	ok[approvalJSON](s, "POST", "/api/v1/approvals/"+call+"/approve", `{"for":"conversation"}`)
	byApproval := map[string]approvalGrantJSON{}
	for _, g := range ok[[]approvalGrantJSON](s, "GET", "/api/v1/approval-grants", "") {
		byApproval[g.ApprovalID] = g
	}
	if g := byApproval[call]; len(byApproval) != 2 || g.For != "conversation" || g.Conversation != "ch" || g.GivenBy != "user:"+s.user {
		t.Errorf("%+v", byApproval)
	}
	if a := s.do("DELETE", "/api/v1/approval-grants/"+id, s.other, ""); a.status != 404 {
		t.Errorf("a stranger revokes it: %d %s", a.status, a.raw)
	}
	if a := s.do("DELETE", "/api/v1/approval-grants/"+id, s.key, ""); a.status != 204 {
		t.Errorf("%d %s", a.status, a.raw)
	}
	s.audited("approval_grant.end", id)
	if list := ok[[]approvalGrantJSON](s, "GET", "/api/v1/approval-grants", ""); len(list) != 1 {
		t.Errorf("%+v", list)
	}
	if a := s.do("DELETE", "/api/v1/approval-grants/"+id, s.key, ""); a.status != 404 {
		t.Errorf("revoked twice: %d %s", a.status, a.raw)
	}
	open := s.asksFor("another")
	for _, bad := range []string{`{"for":"ever"}`, `{"for":"same_arguments"}`, `{"for":"same_arguments","minutes":1441}`, `{"for":"same_arguments","minutes":-1}`, `{"minutes":5}`, `{"for":"call","minutes":5}`} {
		if a := s.do("POST", "/api/v1/approvals/"+open+"/approve", s.key, bad); a.status != 400 {
			t.Errorf("%s: %d %s", bad, a.status, a.raw)
		}
	}
	if a := s.do("POST", "/api/v1/approvals/"+open+"/reject", s.key, `{"for":"conversation"}`); a.status != 400 {
		t.Errorf("a no for longer: %d %s", a.status, a.raw)
	}
}

// TestReviewersOverREST: the owner names people by their e-mail addresses, and gets them
// back so; what they decide about is theirs to see.
func TestReviewersOverREST(t *testing.T) {
	s := start(t)
	reviewer := s.newUser(t.Context(), "rita")
	path := "/api/v1/agents/" + s.agent + "/approval-policy"
	type review struct {
		Reviewers []string
		Second    []string `json:"second_reviewers"`
		Needed    int      `json:"votes_needed"`
		Only      bool     `json:"only_reviewers"`
		NotCaller bool     `json:"not_caller"`
	}
	type policy struct {
		Auto   *bool `json:"auto_approve"`
		Review *review
		Tools  []struct {
			Tool   string
			Auto   *bool `json:"auto_approve"`
			Review *review
		}
	}
	p := ok[policy](s, "PATCH", path, `{"auto_approve":false,"review":{"reviewers":["RITA@test"],"votes_needed":1,"only_reviewers":true,"not_caller":true}}`)
	if p.Review == nil || len(p.Review.Reviewers) != 1 || p.Review.Reviewers[0] != "rita@test" || p.Review.Needed != 1 || !p.Review.Only || !p.Review.NotCaller {
		t.Fatalf("%+v", p.Review)
	}
	s.audited("approval.policy", s.agent)
	p = ok[policy](s, "PATCH", path, `{"tools":[{"tool":"say","auto_approve":false},{"tool":"say","review":{"second_reviewers":["rita@test"]}}]}`)
	if p.Review == nil || len(p.Tools) != 1 || p.Tools[0].Review == nil || p.Tools[0].Review.Second[0] != "rita@test" {
		t.Errorf("%+v", p)
	}
	p = ok[policy](s, "PATCH", path, `{"tools":[{"tool":"say","review":null},{"tool":"say","auto_approve":false}]}`)
	if len(p.Tools) != 1 || p.Tools[0].Review != nil || p.Tools[0].Auto == nil || *p.Tools[0].Auto {
		t.Errorf("the owner again: %+v", p.Tools)
	}
	for _, bad := range []string{
		`{"review":{"reviewers":["nobody@test"]}}`, `{"review":{"reviewers":["rita"]}}`, `{"review":{"only_reviewers":true}}`,
		`{"review":{"reviewers":["rita@test"],"votes_needed":9}}`, `{"review":"rita@test"}`, `{"review":{"who":[]}}`,
	} {
		if a := s.do("PATCH", path, s.key, bad); a.status != 400 {
			t.Errorf("%s: %d %s", bad, a.status, a.raw)
		}
	}

	q := storetest.Question(s.user, "turn", `{"name": "a.csv"}`, s.now())
	q.AgentID, q.OnlyReviewers, q.Need, q.ExpiresAt = s.agent, true, 1, q.CreatedAt.Add(5*time.Minute)
	q.Hash, q.Reviewers = storetest.HashOf("arguments"), append(q.Reviewers, reviewerOf("rita", q.CreatedAt))
	a, _, err := s.db.Approvals.Ask(t.Context(), q, "r")
	if err != nil {
		t.Fatal(err)
	}
	if got := s.do("GET", "/api/v1/approvals", reviewer, ""); !strings.Contains(got.raw, a.ID) {
		t.Errorf("a reviewer's list: %s", got.raw)
	}
	if got := s.do("GET", "/api/v1/approvals/"+a.ID, s.other, ""); got.status != 404 {
		t.Errorf("a stranger: %d %s", got.status, got.raw)
	}
	for _, do := range []string{"approve", "reject", "link"} {
		if got := s.do("POST", "/api/v1/approvals/"+a.ID+"/"+do, s.key, ""); got.status != 403 {
			t.Errorf("the owner, who only looks, %s: %d %s", do, got.status, got.raw)
		}
	}
	if got := s.do("POST", "/api/v1/approvals/"+a.ID+"/approve", reviewer, ""); got.status != 200 || !strings.Contains(got.raw, `"approved"`) {
		t.Errorf("a reviewer: %d %s", got.status, got.raw)
	}
	if got := s.do("GET", "/api/v1/approvals?status=all", reviewer, ""); !strings.Contains(got.raw, a.ID) {
		t.Errorf("a reviewer's history: %s", got.raw)
	}
}

// TestVotesOverREST: who is not the last to say yes reads that it was counted.
func TestVotesOverREST(t *testing.T) {
	s := start(t)
	reviewer := s.newUser(t.Context(), "rita")
	q := storetest.Question(s.user, "turn", `{}`, s.now())
	q.AgentID, q.Need, q.ExpiresAt, q.Hash = s.agent, 2, q.CreatedAt.Add(5*time.Minute), storetest.HashOf("arguments")
	q.Reviewers = append(q.Reviewers, reviewerOf("rita", q.CreatedAt))
	a, _, err := s.db.Approvals.Ask(t.Context(), q, "r")
	if err != nil {
		t.Fatal(err)
	}
	type votes struct {
		Status string
		Needed int `json:"votes_needed"`
		Yes    int `json:"yes_votes"`
	}
	if v := ok[votes](s, "POST", "/api/v1/approvals/"+a.ID+"/approve", ""); v.Status != "pending" || v.Needed != 2 || v.Yes != 1 {
		t.Errorf("%+v", v)
	}
	s.audited("approval.voted", a.ID)
	if got := s.do("POST", "/api/v1/approvals/"+a.ID+"/approve", reviewer, `{}`); got.status != 200 || !strings.Contains(got.raw, `"status":"approved"`) {
		t.Errorf("%d %s", got.status, got.raw)
	}
}
