package rest_test

import (
	"strconv"
	"testing"
	"time"
)

// TestBudgetIsSetAndEnds: one for the same agent, unit and period takes the place of
// the first; what it does not allow is 429 with when to come back.
func TestBudgetIsSetAndEnds(t *testing.T) {
	s := start(t)
	s.echo()
	type budget struct {
		ID     string  `json:"id"`
		Limit  float64 `json:"limit"`
		Spent  float64 `json:"spent"`
		State  string  `json:"state"`
		WarnAt int     `json:"warn_at_percent"`
	}
	body := func(limit string) string {
		return `{"subject_type":"agent","subject_id":"` + s.agent + `","unit":"calls","period":"month","limit":` + limit + `}`
	}
	first := ok[budget](s, "POST", "/api/v1/budgets", body("5"))
	second := ok[budget](s, "POST", "/api/v1/budgets", body("10"))
	if first.ID == "" || second.ID != first.ID || second.Limit != 10 || second.WarnAt != 80 || second.State != "ok" {
		t.Errorf("%+v, then %+v", first, second)
	}
	s.audited("budget.set", first.ID)
	if list := ok[[]budget](s, "GET", "/api/v1/budgets", ""); len(list) != 1 || list[0] != second {
		t.Errorf("%+v", list)
	}
	invoke := "/api/v1/agents/" + s.agent + "/invoke"
	for n := 1; n <= 10; n++ {
		if a := s.do("POST", invoke, s.key, `{"message":"hi"}`); a.status != 200 {
			t.Fatalf("call %d of 10: %d %s", n, a.status, a.raw)
		}
		want := "ok"
		switch {
		case n == 10:
			want = "spent"
		case n >= 8: // it warns at 80 %
			want = "low"
		}
		if list := ok[[]budget](s, "GET", "/api/v1/budgets", ""); len(list) != 1 || list[0].Spent != float64(n) || list[0].State != want {
			t.Errorf("after %d calls of 10: %+v, want it to be %s", n, list, want)
		}
	}
	refused := s.do("POST", invoke, s.key, `{"message":"hi"}`)
	wait, err := strconv.Atoi(refused.header.Get("Retry-After"))
	if refused.status != 429 || refused.code != "budget_exceeded" || err != nil || wait < 1 || wait > int(32*24*time.Hour/time.Second) {
		t.Errorf("%d, Retry-After %q: %s", refused.status, refused.header.Get("Retry-After"), refused.raw)
	}
	if a := s.do("DELETE", "/api/v1/budgets/"+first.ID, s.other, ""); a.status != 404 {
		t.Errorf("a stranger: %d %s", a.status, a.raw)
	}
	if a := s.do("DELETE", "/api/v1/budgets/"+first.ID, s.key, ""); a.status != 204 {
		t.Errorf("%d %s", a.status, a.raw)
	}
	s.audited("budget.delete", first.ID)
}
