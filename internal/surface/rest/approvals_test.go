package rest_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/beeos/beeos/internal/access/approval"
	"github.com/beeos/beeos/internal/store/storetest"
)

type approvalJSON struct {
	ID, Status, Tool, Skill, Caller, Reason, Via string
	Arguments                                    json.RawMessage
	Hash                                         string    `json:"arguments_sha256"`
	DecidedBy                                    string    `json:"decided_by"`
	RequestedAt                                  time.Time `json:"requested_at"`
	ExpiresAt                                    time.Time `json:"expires_at"`
}

// asks lets the agent ask for a tool call.
func (s *stack) asks(turn string) string {
	s.t.Helper()
	a, err := s.db.Agents.Get(s.t.Context(), s.agent)
	if err != nil {
		s.t.Fatal(err)
	}
	q := storetest.Question(a.OwnerID, turn, `{"name": "a.csv"}`, s.now())
	q.AgentID, q.Caller, q.Skill, q.Hash, q.ExpiresAt = a.ID, "user:"+s.user, "files", storetest.HashOf("arguments"), q.CreatedAt.Add(approval.Timeout)
	row, _, err := s.db.Approvals.Ask(s.t.Context(), q, "r")
	if err != nil {
		s.t.Fatal(err)
	}
	return row.ID
}

func TestListAndDecideApprovals(t *testing.T) {
	s := start(t)
	first, second := s.asks("turn 1"), s.asks("turn 2")
	first, second = min(first, second), max(first, second) // those of one millisecond have no order of their own
	list := ok[[]approvalJSON](s, "GET", "/api/v1/approvals", "")
	if len(list) != 2 || list[0].Status != "pending" || list[0].ExpiresAt.Sub(list[0].RequestedAt) != 5*time.Minute {
		t.Fatalf("%+v", list)
	}
	if one := ok[approvalJSON](s, "GET", "/api/v1/approvals/"+first, ""); string(one.Arguments) != `{"name": "a.csv"}` && string(one.Arguments) != `{"name":"a.csv"}` || len(one.Hash) != 64 {
		t.Errorf("%+v", one)
	}
	for _, path := range []string{"", "/approve", "/reject", "/link"} { // another owner's do not exist
		method := "POST"
		if path == "" {
			method = "GET"
		}
		if a := s.do(method, "/api/v1/approvals/"+first+path, s.other, ""); a.status != 404 {
			t.Errorf("a stranger's %s: %d %s", path, a.status, a.raw)
		}
	}
	if a := s.do("GET", "/api/v1/approvals?status=all", s.other, ""); strings.Contains(a.raw, first) {
		t.Errorf("a stranger's list: %s", a.raw)
	}
	yes := ok[approvalJSON](s, "POST", "/api/v1/approvals/"+first+"/approve", "")
	if yes.Status != "approved" || yes.DecidedBy != "user:"+s.user || yes.Via != "rest" {
		t.Errorf("%+v", yes)
	}
	if a := s.do("POST", "/api/v1/approvals/"+first+"/reject", s.key, `{"reason":"no"}`); a.status != 409 || !strings.Contains(a.raw, "approved already") {
		t.Errorf("a second decision: %d %s", a.status, a.raw)
	}
	no := ok[approvalJSON](s, "POST", "/api/v1/approvals/"+second+"/reject", `{"reason":"not today"}`)
	if no.Status != "rejected" || no.Reason != "not today" {
		t.Errorf("%+v", no)
	}
	s.audited("approval.approved", first)
	s.audited("approval.rejected", second)
	if list := ok[[]approvalJSON](s, "GET", "/api/v1/approvals?status=pending", ""); len(list) != 0 {
		t.Errorf("still waits: %+v", list)
	}
	page := s.do("GET", "/api/v1/approvals?status=decided&limit=1", s.key, "")
	if !strings.Contains(page.raw, `"has_more":true`) || !strings.Contains(page.raw, second) {
		t.Errorf("first page: %s", page.raw)
	}
	if a := s.do("GET", "/api/v1/approvals?since=%ff", s.key, ""); a.code != "invalid_param" {
		t.Errorf("since what is no id: %s", a.raw)
	}
	if a := s.do("GET", "/api/v1/approvals?status=decided&limit=1&since="+second, s.key, ""); !strings.Contains(a.raw, first) || strings.Contains(a.raw, `"has_more":true`) {
		t.Errorf("second page: %s", a.raw)
	}
}

func TestExpiredApprovalCannotBeDecided(t *testing.T) {
	s := start(t)
	id := s.asks("turn")
	s.ahead.Store(int64(6 * time.Minute))
	if a := s.do("POST", "/api/v1/approvals/"+id+"/approve", s.key, ""); a.status != 409 {
		t.Errorf("approved too late: %d %s", a.status, a.raw)
	}
	if one := ok[approvalJSON](s, "GET", "/api/v1/approvals/"+id, ""); one.Status != "expired" {
		t.Errorf("%+v", one)
	}
}

func TestApprovalsRefuseBadRequests(t *testing.T) {
	s := start(t)
	id := s.asks("turn")
	for _, c := range []struct {
		method, path, body string
		status             int
	}{
		{"GET", "/api/v1/approvals?status=open", "", 400},
		{"GET", "/api/v1/approvals?limit=0", "", 400},
		{"GET", "/api/v1/approvals/unknown", "", 404},
		{"POST", "/api/v1/approvals/" + id + "/reject", `{"because":"no"}`, 400},
		{"POST", "/api/v1/approvals/" + id + "/reject", `{"reason":"` + strings.Repeat("x", 3000) + `"}`, 400},
		{"PATCH", "/api/v1/agents/" + s.agent + "/approval-policy", `{}`, 400},
		{"PATCH", "/api/v1/agents/" + s.agent + "/approval-policy", `{"timeout_seconds":1}`, 400},
		{"PATCH", "/api/v1/agents/" + s.agent + "/approval-policy", `{"tools":[{}]}`, 400},
		{"PATCH", "/api/v1/agents/" + s.agent + "/approval-policy", `{"tools":[{"tool":"x","auto_approve":"yes"}]}`, 400},
	} {
		if a := s.do(c.method, c.path, s.key, c.body); a.status != c.status {
			t.Errorf("%s %s %.60s: %d %s", c.method, c.path, c.body, a.status, a.raw)
		}
	}
	if one := ok[approvalJSON](s, "GET", "/api/v1/approvals/"+id, ""); one.Status != "pending" {
		t.Errorf("%+v", one)
	}
}

func TestPatchApprovalPolicy(t *testing.T) {
	s := start(t)
	path := "/api/v1/agents/" + s.agent + "/approval-policy"
	type policy struct {
		Auto    *bool `json:"auto_approve"`
		Timeout int   `json:"timeout_seconds"`
		Tools   []struct {
			Skill, Tool string
			Auto        *bool  `json:"auto_approve"`
			Version     string `json:"policy_version"`
		}
	}
	if p := ok[policy](s, "GET", path, ""); p.Auto != nil || p.Timeout != 300 || len(p.Tools) != 0 {
		t.Errorf("at first: %+v", p)
	}
	ok[policy](s, "PATCH", path, `{"auto_approve":false,"timeout_seconds":60}`)
	p := ok[policy](s, "PATCH", path, `{"tools":[{"tool":"say","auto_approve":true},{"skill":"files","auto_approve":true}]}`)
	if p.Auto == nil || *p.Auto || p.Timeout != 60 || len(p.Tools) != 2 || !*p.Tools[0].Auto || p.Tools[0].Version == "" {
		t.Errorf("after two changes: %+v", p)
	}
	s.audited("approval.policy", s.agent)
	if p := ok[policy](s, "PATCH", path, `{"auto_approve":null,"timeout_seconds":null,"tools":[{"tool":"say","auto_approve":null}]}`); p.Auto != nil || p.Timeout != 300 || len(p.Tools) != 1 {
		t.Errorf("taken back: %+v", p)
	}
	if a := s.do("GET", path, s.other, ""); a.status != 404 {
		t.Errorf("a stranger reads: %d %s", a.status, a.raw)
	}
	if a := s.do("PATCH", path, s.other, `{"auto_approve":true}`); a.status != 404 {
		t.Errorf("a stranger changes: %d %s", a.status, a.raw)
	}
}

// TestLinkApproval: the address leads to the console and is for this one.
func TestLinkApproval(t *testing.T) {
	s := start(t)
	id := s.asks("turn")
	link := ok[struct{ URL string }](s, "POST", "/api/v1/approvals/"+id+"/link", "")
	if !strings.HasPrefix(link.URL, "http://console.test/approve?token="+id+".") {
		t.Errorf("%+v", link)
	}
}
