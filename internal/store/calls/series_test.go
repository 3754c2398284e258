package calls_test

import (
	"testing"
	"time"

	"github.com/beeos/beeos/internal/store"
	"github.com/beeos/beeos/internal/store/calls"
	"github.com/beeos/beeos/internal/store/storetest"
)

// TestPercentiles: they are as close as classes of twice the length allow.
func TestPercentiles(t *testing.T) {
	sum := func(list ...time.Duration) (s calls.SeriesSum) {
		for _, took := range list {
			s.Count(calls.OK, took, nil)
		}
		return s
	}
	ms := time.Millisecond
	many := make([]time.Duration, 1000)
	for i := range many {
		many[i] = time.Duration(i+1) * ms
	}
	for name, c := range map[string]struct {
		sum      calls.SeriesSum
		share    float64
		min, max time.Duration
	}{
		"one quick call":          {sum(300 * time.Microsecond), .5, 0, ms},
		"one call":                {sum(100 * ms), .95, 64 * ms, 128 * ms},
		"half of the evenly slow": {sum(many...), .5, 450 * ms, 550 * ms},
		"most of the evenly slow": {sum(many...), .95, 900 * ms, 1024 * ms},
		"one that is slow":        {sum(ms, ms, ms, time.Minute), .5, ms, 2 * ms},
		"the slow one of them":    {sum(ms, ms, ms, time.Minute), .95, 32768 * ms, 65536 * ms},
		"longer than is measured": {sum(time.Hour, 48*time.Hour), .5, 262144 * ms, 262144 * ms},
		"before it began":         {sum(-time.Second), .5, 0, ms},
	} {
		got, ok := c.sum.Percentile(c.share)
		if !ok || got < c.min || got > c.max {
			t.Errorf("%s: %v, %v; want %v to %v", name, got, ok, c.min, c.max)
		}
	}
	if got, ok := new(calls.SeriesSum).Percentile(.5); ok || got != 0 {
		t.Errorf("without calls: %v, %v", got, ok)
	}
	both, one, other := sum(ms, time.Second), sum(ms), sum(time.Second)
	if one.Add(&other); one != both {
		t.Errorf("added up they are %+v, not %+v", one, both)
	}
}

// TestSeriesAreFoundByIndex: what a chart or retention reads does not grow with what
// is stored.
func TestSeriesAreFoundByIndex(t *testing.T) {
	engines(t, func(t *testing.T, db *store.Store) {
		if db.Postgres {
			return
		}
		storetest.WantIndex(t, db, `SELECT (at - 5) / 3, SUM(calls) FROM series WHERE agent_id IN ($1, $2) AND minutes = 5 AND at >= 7 AND at < 9 GROUP BY 1`)
		storetest.WantIndex(t, db, `DELETE FROM series WHERE minutes = 5 AND at < 9 AND at = (SELECT MIN(at) FROM series WHERE minutes = 5)`)
	})
}

func TestProblemsAreProblems(t *testing.T) {
	problems := map[calls.Outcome]bool{}
	for _, o := range calls.Problems() {
		problems[o] = true
	}
	for _, o := range append(calls.Ended(), calls.Working) {
		if o.IsProblem() != problems[o] {
			t.Errorf("%s is a problem: %v", o, o.IsProblem())
		}
	}
}
