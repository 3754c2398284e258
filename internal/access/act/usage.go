package act

import (
	"context"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store/calls"
)

// UsageFilter picks what answers of the caller's agents took.
type UsageFilter struct {
	AgentID      string    // empty = all agents of the caller's
	Since, Until time.Time // days, both counted; zero = the last 30
	By           []string  // what it is added up by; empty = day, agent and model
}

const (
	usageDays    = 30
	maxUsageDays = 3660
	maxUsageRows = 10_000
)

// Usage adds up what answers of the caller's agents took of models.
func (a *Acts) Usage(ctx context.Context, c beeos.Caller, f UsageFilter) ([]calls.UsageRow, error) {
	mine := CallFilter{AgentID: f.AgentID}
	if err := a.pickAgents(ctx, c, &mine); err != nil {
		return nil, err
	}
	if f.Until.IsZero() {
		f.Until = a.Now()
	}
	if f.Since.IsZero() {
		f.Since = f.Until.AddDate(0, 0, 1-usageDays)
	}
	if f.Since.After(f.Until) || f.Until.Sub(f.Since) > maxUsageDays*24*time.Hour {
		return nil, beeos.Errorf(beeos.InvalidParam, "the first day must not be after the last, nor more than ten years before it")
	}
	if len(f.By) == 0 {
		f.By = []string{"day", "agent", "model"}
	}
	rows, err := a.DB.Calls.SumUsage(ctx, calls.UsageFilter{AgentIDs: mine.AgentIDs, Since: f.Since, Until: f.Until, By: f.By, Limit: maxUsageRows + 1})
	if err == nil && len(rows) > maxUsageRows {
		err = beeos.Errorf(beeos.InvalidParam, "that are more than %d rows; ask for fewer days, or group by less", maxUsageRows)
	}
	return rows, err
}
