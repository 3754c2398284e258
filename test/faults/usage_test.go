package faults

import (
	"encoding/json"
	"hash/fnv"

	"github.com/google/go-cmp/cmp"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/agent"
	"github.com/beeos/beeos/internal/engine/price"
	"github.com/beeos/beeos/internal/store/calls"
	"github.com/beeos/beeos/internal/store/database"
)

// spending is what an answer to a text takes of models, in each of the ways in
// which agents tell it: by steps with a price and without, and by themselves, also
// with what it cost. It is another for another text, and the same for the same.
func spending(text string) (bySteps bool, list []beeos.Usage) {
	h := fnv.New32a()
	h.Write([]byte(text)) //nolint:errcheck // a hash takes everything
	n := int64(h.Sum32() % 10_007)
	switch n % 4 {
	case 0:
		return true, []beeos.Usage{{Model: "gpt-5-mini", InputTokens: 1000 + n, OutputTokens: n}}
	case 1:
		return true, []beeos.Usage{{Model: "claude-sonnet-4-5", InputTokens: 10 + n, OutputTokens: 3 * n}, {Model: "made-up", InputTokens: n, OutputTokens: 7}}
	case 2:
		return false, []beeos.Usage{{Model: "gpt-4o", InputTokens: n, OutputTokens: 1 + n/2}}
	}
	return false, []beeos.Usage{{Model: "made-up", InputTokens: 5 * n, OutputTokens: n, CostUSD: float64(n) / 1000}}
}

// tellSpending is how an agent tells it.
func tellSpending(text string, r *agent.Reply) {
	bySteps, list := spending(text)
	for _, u := range list {
		if bySteps {
			r.Step("think", agent.StepModel).Tokens(u.Model, u.InputTokens, u.OutputTokens).End(nil)
		} else {
			r.Usage(u.Model, u.InputTokens, u.OutputTokens, u.CostUSD)
		}
	}
}

// summed is what usage is added up by.
type summed struct {
	Route, Day int64
	Model      string
}

// checkUsage: what the sums say is what the stored answers took, to the token and
// the millionth of a dollar: nothing is lost, and nothing counts twice.
func (r records) checkUsage() {
	r.t.Helper()
	type answer struct {
		route, at   int64
		text, steps string
	}
	answers, err := database.List(r.t.Context(), r.db, "read answers", func(a *answer) []any { return []any{&a.route, &a.at, &a.text, &a.steps} },
		`SELECT q.route, a.created_at, q.body, a.steps FROM messages a JOIN messages q ON q.id = a.in_reply_to WHERE a.terminal AND a.type = 'agent_reply'`)
	if err != nil {
		r.t.Fatal(err)
	}
	want, prices := map[summed]calls.UsageSum{}, price.Default()
	for _, a := range answers {
		for _, u := range prices.Charge(r.spentFor(a.text, a.steps)) {
			at := summed{a.route, a.at / calls.MicrosPerDay, u.Model}
			sum := want[at]
			sum.Add(u.UsageSum)
			want[at] = sum
		}
	}
	type row struct {
		summed
		calls.UsageSum
	}
	rows, err := database.List(r.t.Context(), r.db, "read usage", func(u *row) []any {
		return []any{&u.Route, &u.Day, &u.Model, &u.Answers, &u.Input, &u.Output, &u.Micros, &u.Unpriced}
	}, `SELECT route, day, model, answers, input, output, micros, unpriced FROM usage`)
	if err != nil {
		r.t.Fatal(err)
	}
	got := map[summed]calls.UsageSum{}
	for _, u := range rows {
		sum := got[u.summed]
		sum.Add(u.UsageSum)
		got[u.summed] = sum
	}
	if diff := cmp.Diff(want, got); diff != "" || len(got) == 0 {
		r.t.Errorf("usage is not what %d answers took, -want +got:\n%s", len(answers), diff)
	}
	r.t.Logf("usage of %d answers in %d rows of %d sums", len(answers), len(rows), len(got))
}

// spentFor is what the answer to a text took: as its steps say, if it has any.
func (r records) spentFor(text, steps string) []beeos.Usage {
	r.t.Helper()
	bySteps, list := spending(text)
	if !bySteps {
		return list
	}
	var stored []beeos.Step
	if err := json.Unmarshal([]byte(steps), &stored); err != nil {
		r.t.Fatalf("the steps for %q: %v", text, err)
	}
	if diff := cmp.Diff(list, beeos.UsageOf(stored)); diff != "" {
		r.t.Errorf("the steps for %q, -told +stored:\n%s", text, diff)
	}
	return beeos.UsageOf(stored)
}
