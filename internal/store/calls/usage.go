package calls

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store/database"
)

// MicrosPerDay is a day in the unit of stored times.
const MicrosPerDay = int64(24 * time.Hour / time.Microsecond)

// UsageSum is what answers took, added up.
type UsageSum struct {
	Answers  int64
	Input    int64 // tokens
	Output   int64
	Micros   int64 // millionths of a US dollar
	Unpriced int64 // tokens that are not in Micros: their model has no price
}

// Add adds another sum.
func (s *UsageSum) Add(other UsageSum) {
	s.Answers += other.Answers
	s.Input += other.Input
	s.Output += other.Output
	s.Micros += other.Micros
	s.Unpriced += other.Unpriced
}

// Usage is what one answer took of one model.
type Usage struct {
	Model string
	UsageSum
}

// UsageRow is what was taken by all that has something in common; what it was not
// grouped by is empty.
type UsageRow struct {
	Day        time.Time
	AgentID    string
	Caller     string
	Credential string
	Tool       string
	Model      string
	UsageSum
}

// UsageFilter picks usage.
type UsageFilter struct {
	AgentIDs []string  // of these agents
	Since    time.Time // from this day on
	Until    time.Time // to this day, which is the last one
	By       []string  // of UsageGroups
	Limit    int
}

// usageGroups are the columns by which usage can be added up.
var usageGroups = map[string]string{
	"day": "u.day", "agent": "r.agent_id", "caller": "r.caller", "credential": "r.credential", "tool": "r.tool", "model": "u.model",
}

// UsageGroups are the names of what usage can be added up by.
func UsageGroups() []string { return database.SortedKeys(usageGroups) }

// SumUsage adds usage up, the latest day first, then by who took most.
func (t *Table) SumUsage(ctx context.Context, f UsageFilter) ([]UsageRow, error) {
	if len(f.AgentIDs) == 0 {
		return nil, nil
	}
	columns := map[string]string{"day": "0", "agent": "''", "caller": "''", "credential": "''", "tool": "''", "model": "''"}
	var by []string
	for _, name := range f.By {
		column, ok := usageGroups[name]
		if !ok {
			return nil, beeos.Errorf(beeos.InvalidParam, "usage cannot be grouped by %q; use any of %s", name, strings.Join(UsageGroups(), ", "))
		}
		if !slices.Contains(by, column) {
			columns[name], by = column, append(by, column)
		}
	}
	var where database.Conditions
	where.AddList("r.agent_id", database.Args(f.AgentIDs))
	where.Add("u.day >= ?", database.Micros(f.Since)/MicrosPerDay)
	where.Add("u.day <= ?", database.Micros(f.Until)/MicrosPerDay)
	group := ""
	if len(by) > 0 {
		group = ` GROUP BY ` + strings.Join(by, `, `)
	}
	query := fmt.Sprintf(`SELECT %s, %s, %s, %s, %s, %s, CAST(SUM(u.answers) AS BIGINT), CAST(SUM(u.input) AS BIGINT), CAST(SUM(u.output) AS BIGINT),
		CAST(SUM(u.micros) AS BIGINT), CAST(SUM(u.unpriced) AS BIGINT)
		FROM routes r JOIN usage u ON u.route = r.id%s%s HAVING SUM(u.answers) > 0 ORDER BY 1 DESC, 10 DESC, 8 DESC, 2, 3, 4, 5, 6 LIMIT %d`,
		columns["day"], columns["agent"], columns["caller"], columns["credential"], columns["tool"], columns["model"], where.SQL(), group, f.Limit)
	return database.List(ctx, t.db, "sum usage", usageFields, query, where.Args...)
}

func usageFields(r *UsageRow) []any {
	return []any{dayColumn{&r.Day}, &r.AgentID, &r.Caller, &r.Credential, &r.Tool, &r.Model, &r.Answers, &r.Input, &r.Output, &r.Micros, &r.Unpriced}
}

// dayColumn is a day that is stored as a number; 0 = none.
type dayColumn struct{ to *time.Time }

func (c dayColumn) Scan(v any) error {
	n, ok := v.(int64)
	if !ok {
		return fmt.Errorf("a day is %T", v)
	}
	if n > 0 {
		*c.to = time.UnixMicro(n * MicrosPerDay).UTC()
	}
	return nil
}
