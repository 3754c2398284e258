package act

import (
	"context"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store/calls"
)

// Range is a time up to now that charts show, in equal steps.
type Range struct {
	Name   string // in addresses
	Words  string // after "in the"
	Step   time.Duration
	Points int
}

// Ranges are those that there are.
var Ranges = []Range{
	{Name: "1h", Words: "last hour", Step: 5 * time.Minute, Points: 12},
	{Name: "24h", Words: "last 24 hours", Step: 15 * time.Minute, Points: 96},
	{Name: "7d", Words: "last 7 days", Step: 2 * time.Hour, Points: 84},
}

// Series is how calls went over a Range; the last of its points is not over yet.
type Series struct {
	Range
	Since time.Time
	Sums  []calls.SeriesSum // one per point
}

// Total is all of it added up.
func (s *Series) Total() (total calls.SeriesSum) {
	for i := range s.Sums {
		total.Add(&s.Sums[i])
	}
	return total
}

// Series returns how calls to an agent of the caller's went, or to all agents of
// theirs. What ended in the last few seconds may be missing.
func (a *Acts) Series(ctx context.Context, c beeos.Caller, agentID string, r Range) (Series, error) {
	mine := CallFilter{AgentID: agentID}
	if err := a.pickAgents(ctx, c, &mine); err != nil {
		return Series{}, err
	}
	s := Series{Range: r, Since: a.Now().UTC().Truncate(r.Step).Add(-time.Duration(r.Points-1) * r.Step)}
	var err error
	s.Sums, err = a.DB.Calls.SumSeries(ctx, calls.SeriesFilter{AgentIDs: mine.AgentIDs, Since: s.Since, Step: r.Step, Points: r.Points})
	return s, err
}
