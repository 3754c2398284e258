package ledger

import (
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store/calls"
)

// TestUsageIsAddedUp: with the reply that tells it, once, over several writers and
// days.
func TestUsageIsAddedUp(t *testing.T) {
	engines(t, func(t *testing.T, open func(Options) *Ledger) {
		day := time.Date(2026, 3, 5, 23, 0, 0, 0, time.UTC)
		clock := day
		l := open(Options{Now: func() time.Time { return clock }})
		took := func(model string, in, out int64) calls.Usage {
			return calls.Usage{Model: model, UsageSum: calls.UsageSum{Answers: 1, Input: in, Output: out, Micros: in * 10, Unpriced: 1}}
		}
		answer := func(agent, tool string, usage ...calls.Usage) {
			o := request(agent)
			o.Surface, o.Tool, o.Credential = "rest", tool, "key-1"
			begin(t, l, o)
			first := reply(o, "hi")
			first.ID = beeos.NewID()
			for i, m := range []beeos.Message{first, reply(o, "hi"), first} { // sent again, also as it was, it counts nothing
				_, err := l.FinishAttempt(t.Context(), m, &Attempt{Number: 1, Usage: usage})
				if (err == nil) != (m.ID == first.ID) {
					t.Error(i, err)
				}
			}
		}
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() { answer("agent_a", "", took("m", 100, 10), took("n", 1, 2)) })
		}
		all.Wait()
		answer("agent_a", "add", took("m", 5, 5))
		answer("agent_b", "", took("m", 7, 7))
		answer("agent_b", "")
		clock = clock.Add(2 * time.Hour)
		answer("agent_a", "", took("m", 1000, 1))

		sum := func(f calls.UsageFilter) []calls.UsageRow {
			t.Helper()
			f.Since, f.Limit = day, 100
			if f.Until.IsZero() {
				f.Until = clock
			}
			rows, err := calls.New(l.db).SumUsage(t.Context(), f)
			if err != nil {
				t.Fatal(err)
			}
			return rows
		}
		var strays int
		if err := l.db.QueryRowContext(t.Context(), `SELECT COUNT(*) FROM usage WHERE route NOT IN (SELECT id FROM routes)`).Scan(&strays); err != nil || strays > 0 {
			t.Errorf("%d sums are of no calls, %v", strays, err)
		}
		today, tomorrow := day.Truncate(24*time.Hour), day.Truncate(24*time.Hour).Add(24*time.Hour)
		for name, c := range map[string]struct {
			f    calls.UsageFilter
			want []calls.UsageRow
		}{
			"whole": {
				calls.UsageFilter{AgentIDs: []string{"agent_a", "agent_b"}},
				[]calls.UsageRow{{UsageSum: calls.UsageSum{Answers: 43, Input: 3032, Output: 253, Micros: 30320, Unpriced: 43}}},
			},
			"day and model": {calls.UsageFilter{AgentIDs: []string{"agent_a"}, By: []string{"day", "model", "day"}}, []calls.UsageRow{
				{Day: tomorrow, Model: "m", UsageSum: calls.UsageSum{Answers: 1, Input: 1000, Output: 1, Micros: 10000, Unpriced: 1}},
				{Day: today, Model: "m", UsageSum: calls.UsageSum{Answers: 21, Input: 2005, Output: 205, Micros: 20050, Unpriced: 21}},
				{Day: today, Model: "n", UsageSum: calls.UsageSum{Answers: 20, Input: 20, Output: 40, Micros: 200, Unpriced: 20}},
			}},
			"agent, caller, key and tool of a day": {calls.UsageFilter{AgentIDs: []string{"agent_a", "agent_b"}, By: []string{"agent", "caller", "credential", "tool"}, Until: day}, []calls.UsageRow{
				{AgentID: "agent_a", Caller: "user:u", Credential: "key-1", UsageSum: calls.UsageSum{Answers: 40, Input: 2020, Output: 240, Micros: 20200, Unpriced: 40}},
				{AgentID: "agent_b", Caller: "user:u", Credential: "key-1", UsageSum: calls.UsageSum{Answers: 1, Input: 7, Output: 7, Micros: 70, Unpriced: 1}},
				{AgentID: "agent_a", Caller: "user:u", Credential: "key-1", Tool: "add", UsageSum: calls.UsageSum{Answers: 1, Input: 5, Output: 5, Micros: 50, Unpriced: 1}},
			}},
			"somebody else's": {calls.UsageFilter{AgentIDs: []string{"agent_c"}}, nil},
			"nobody's":        {calls.UsageFilter{}, nil},
		} {
			if diff := cmp.Diff(c.want, sum(c.f)); diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
		}
		if _, err := calls.New(l.db).SumUsage(t.Context(), calls.UsageFilter{AgentIDs: []string{"a"}, By: []string{"colour"}}); beeos.CodeOf(err) != beeos.InvalidParam {
			t.Error(err)
		}
	})
}
