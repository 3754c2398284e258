package budgets

import (
	"context"
	"time"

	"github.com/beeos/beeos/internal/store/calls"
	"github.com/beeos/beeos/internal/store/database"
)

// Count is what was taken of a budget.
type Count struct {
	Standing
	Spent int64
}

// settledAfter is when no request can appear any more that was made before: then
// its calls need not be counted again.
const settledAfter = time.Minute

// of is the column of routes that a kind of subject is in, and how it stands there.
func (s Subject) of() (column, value string) {
	switch s.Kind {
	case OfKey, OfApp:
		return "r.credential", s.ID
	case OfUser:
		return "r.caller", "user:" + s.ID
	}
	return "r.agent_id", s.ID
}

// Count counts what was taken in a period, from what is stored of its calls. If
// nobody has drawn a share since held, or more was taken than drawn, that is what
// counts as drawn from now on. It is false for a budget that is gone.
func (t *Table) Count(ctx context.Context, b *Budget, now, held time.Time) (Count, bool, error) {
	began, _ := b.Period.Span(now)
	if b.Unit == Calls {
		return t.countCalls(ctx, b, began, now, held)
	}
	return t.sumUsage(ctx, b, began, now, held)
}

// countCalls goes on from what was counted before: retention may have deleted those.
func (t *Table) countCalls(ctx context.Context, b *Budget, began, now, held time.Time) (Count, bool, error) {
	type counted struct{ began, calls, upTo int64 }
	old, err := database.List(ctx, t.db, "read a budget's count", func(c *counted) []any { return []any{&c.began, &c.calls, &c.upTo} },
		"SELECT began, counted, counted_to FROM budgets WHERE id = $1", b.ID)
	if err != nil || len(old) == 0 {
		return Count{}, false, err
	}
	before := old[0]
	if before.began != database.Micros(began) {
		before = counted{began: database.Micros(began), upTo: calls.KeyOf(began)}
	}
	settled := max(before.upTo, calls.KeyOf(now.Add(-settledAfter)))
	column, value := b.of()
	type found struct{ settled, all int64 }
	n, err := database.Get(ctx, t.db, "count the calls of a budget", nil, func(f *found) []any { return []any{&f.settled, &f.all} },
		`SELECT COALESCE(SUM(CASE WHEN m.n < $3 THEN 1 ELSE 0 END), 0), COUNT(*) FROM routes r JOIN messages m ON m.route = r.id
			WHERE `+column+` = $1 AND m.type = 'chat_message' AND m.n >= $2`, value, before.upTo, settled)
	if err != nil {
		return Count{}, false, err
	}
	return t.put(ctx, b, before.began, before.calls+n.all, 1, held, before.calls+n.settled, settled)
}

// sums are what answers took of a budget's unit.
type sums struct {
	took, answers int64
	open          int64 // requests that have none yet
}

// perCall is what one answer took; 0 = nobody knows.
func (s *sums) perCall() int64 {
	if s.answers == 0 {
		return 0
	}
	return max(1, s.took/s.answers)
}

// sumUsage adds up what answers took. Requests without one will take about as much
// as the others, or as those of the last weeks when there are no others.
func (t *Table) sumUsage(ctx context.Context, b *Budget, began, now, held time.Time) (Count, bool, error) {
	s, err := t.sum(ctx, b, began, now)
	if err != nil {
		return Count{}, false, err
	}
	perCall := s.perCall()
	if perCall == 0 {
		before, err := t.sum(ctx, b, began.Add(-lookBack), now)
		if err != nil {
			return Count{}, false, err
		}
		perCall = before.perCall()
	}
	c, ok, err := t.put(ctx, b, database.Micros(began), s.took+s.open*perCall, perCall, held, 0, 0)
	c.Spent = s.took
	return c, ok, err
}

// lookBack is how long earlier answers say what one takes.
const lookBack = 31 * 24 * time.Hour

func (t *Table) sum(ctx context.Context, b *Budget, from, to time.Time) (sums, error) {
	unit := "u.input + u.output"
	if b.Unit == Money {
		unit = "u.micros"
	}
	column, value := b.of()
	return database.Get(ctx, t.db, "add up the usage of a budget", nil, func(s *sums) []any { return []any{&s.took, &s.answers, &s.open} },
		`SELECT COALESCE(CAST(SUM(`+unit+`) AS BIGINT), 0), COALESCE(CAST(SUM(u.answers) AS BIGINT), 0),
			(SELECT COUNT(*) FROM deliveries d JOIN routes r ON r.id = d.route WHERE `+column+` = $1)
			FROM routes r JOIN usage u ON u.route = r.id WHERE `+column+` = $1 AND u.day >= $2 AND u.day <= $3`,
		value, database.Micros(from)/calls.MicrosPerDay, database.Micros(to)/calls.MicrosPerDay)
}

// put writes down what was counted. What one call takes is remembered over the end
// of a period.
func (t *Table) put(ctx context.Context, b *Budget, began, taken, perCall int64, held time.Time, counted, countedTo int64) (Count, bool, error) {
	s, ok, err := t.change(ctx, "write a budget's count", `UPDATE budgets SET began = $2,
		drawn = CASE WHEN began <> $2 OR drawn_at <= $5 OR drawn < CAST($3 AS BIGINT) THEN CAST($3 AS BIGINT) ELSE drawn END,
		per_call = CASE WHEN CAST($4 AS BIGINT) > 0 THEN CAST($4 AS BIGINT) ELSE per_call END, counted = $6, counted_to = $7,
		warned = warned AND began = $2, beyond = beyond AND began = $2 WHERE id = $1 RETURNING `+standing,
		b.ID, began, taken, perCall, database.Micros(held), counted, countedTo)
	return Count{Standing: s, Spent: taken}, ok, err
}
