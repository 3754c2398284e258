package budgets

import (
	"context"
	"database/sql"
	"time"

	"github.com/beeos/beeos/internal/store/database"
)

// Standing is how a budget stands in a period.
type Standing struct {
	Drawn   int64 // taken, or in the hands of nodes that may
	DrawnAt time.Time
	Took    int64 // by the last draw
	PerCall int64 // what one call takes, as far as is known; 0 = not at all
	Warned  bool
	Beyond  bool // the owner lets it go on until the period ends
}

const standing = "drawn, drawn_at, took, per_call, warned, beyond"

func standingFields(s *Standing) []any {
	return []any{&s.Drawn, database.Time(&s.DrawnAt), &s.Took, &s.PerCall, &s.Warned, &s.Beyond}
}

// drawTook is what somebody gets who wants $3: that, or what is left.
const drawTook = `CASE WHEN beyond OR drawn + CAST($3 AS BIGINT) <= most THEN CAST($3 AS BIGINT) WHEN drawn >= most THEN 0 ELSE most - drawn END`

// Draw draws a share. It is false for a budget that has to be counted first, since a
// period began, or that is gone.
//
// What is drawn need not survive a power cut: it is counted again after one.
func (t *Table) Draw(ctx context.Context, id string, began, now time.Time, want int64) (s Standing, ok bool, err error) {
	return t.change(ctx, "draw on a budget",
		`UPDATE budgets SET took = `+drawTook+`, drawn = drawn + `+drawTook+`, drawn_at = CASE WHEN `+drawTook+` > 0 THEN CAST($4 AS BIGINT) ELSE drawn_at END WHERE id = $1 AND began = $2 RETURNING `+standing,
		id, database.Micros(began), want, database.Micros(now))
}

// change runs a statement that returns how a budget stands after it; false = it met
// none.
func (t *Table) change(ctx context.Context, what, query string, args ...any) (s Standing, ok bool, err error) {
	err = t.db.Tx(ctx, what, func(tx *sql.Tx) error {
		found, err := database.List(ctx, tx, what, standingFields, query, args...)
		if ok = len(found) > 0; ok {
			s = found[0]
		}
		return err
	})
	return s, ok && err == nil, err
}

// Warn notes that somebody was warned in this period; false = somebody was before.
func (t *Table) Warn(ctx context.Context, id string, began time.Time) (bool, error) {
	return database.Change(ctx, t.db, "note a warning", "UPDATE budgets SET warned = TRUE WHERE id = $1 AND began = $2 AND NOT warned", id, database.Micros(began))
}

// LetGoOn lifts a budget until its period ends.
func (t *Table) LetGoOn(ctx context.Context, id string, began time.Time) error {
	return database.Exec(ctx, t.db, "lift a budget", "UPDATE budgets SET beyond = TRUE WHERE id = $1 AND began = $2", id, database.Micros(began))
}

// CountLow counts the budgets of an owner that are used up, or near it as they were
// set to warn, at a moment. It goes by what is drawn, and counts no calls.
func (t *Table) CountLow(ctx context.Context, ownerID string, now time.Time) (int, error) {
	day, _ := Day.Span(now)
	month, _ := Month.Span(now)
	return database.GetValue[int](ctx, t.db, "count low budgets",
		`SELECT COUNT(*) FROM budgets WHERE owner_id = $1 AND NOT beyond AND (warned OR drawn >= most) AND began = CASE period WHEN 'day' THEN CAST($2 AS BIGINT) ELSE CAST($3 AS BIGINT) END`,
		ownerID, database.Micros(day), database.Micros(month))
}
