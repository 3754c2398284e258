package rest_test

import "testing"

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
	second := ok[budget](s, "POST", "/api/v1/budgets", body("7"))
	if first.ID == "" || second.ID != first.ID || second.Limit != 7 || second.WarnAt != 80 || second.State != "ok" {
		t.Errorf("%+v, then %+v", first, second)
	}
	s.audited("budget.set", first.ID)
	if list := ok[[]budget](s, "GET", "/api/v1/budgets", ""); len(list) != 1 || list[0] != second {
		t.Errorf("%+v", list)
	}
	if a := s.do("DELETE", "/api/v1/budgets/"+first.ID, s.other, ""); a.status != 404 {
		t.Errorf("a stranger: %d %s", a.status, a.raw)
	}
	if a := s.do("DELETE", "/api/v1/budgets/"+first.ID, s.key, ""); a.status != 204 {
		t.Errorf("%d %s", a.status, a.raw)
	}
	s.audited("budget.delete", first.ID)
}
