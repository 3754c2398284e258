package calls

import (
	"context"
	"time"

	"github.com/beeos/beeos/internal/store/database"
)

// Replay is a request that repeats another.
type Replay struct {
	Turn string
	At   time.Time
}

// maxReplays bounds how many of a call's replays are told, the newest of them.
const maxReplays = 20

// ReplayOf returns which request a request repeats; empty = none.
func (t *Table) ReplayOf(ctx context.Context, turn string) (string, error) {
	return database.GetValue[string](ctx, t.db, "read what a call repeats", `SELECT original FROM replays WHERE replay = $1`, turn)
}

// Replays returns the requests that repeat a request, the newest first.
func (t *Table) Replays(ctx context.Context, turn string) ([]Replay, error) {
	fields := func(r *Replay) []any { return []any{&r.Turn, database.Time(&r.At)} }
	return database.List(ctx, t.db, "read replays", fields, `SELECT replay, at FROM replays WHERE original = $1 ORDER BY at DESC LIMIT $2`, turn, maxReplays)
}
