package people

import (
	"bytes"
	"context"
	"database/sql"
	"slices"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store/database"
)

// Attempt is one counter that a sign-in is held against: an account's or an
// address's. Wait says how long the next attempt has to wait after so many
// failures.
type Attempt struct {
	Hash     []byte
	Wait     func(failures int) time.Duration
	Failures int // filled in: this attempt included
}

// failuresFor is how long a counter remembers after its last failure.
const failuresFor = time.Hour

// CountAttempt counts an attempt as failed on every counter, before anybody
// looks at the password, so that many at once get no more tries than one
// after the other. When a counter says to wait nothing is counted and the
// error is RateLimited. A success is taken back with ForgiveAttempt.
func (tb *Table) CountAttempt(ctx context.Context, attempts []*Attempt, now time.Time) error {
	sorted := slices.Clone(attempts) // one order, so that nobody waits in a circle
	slices.SortFunc(sorted, func(a, b *Attempt) int { return bytes.Compare(a.Hash, b.Hash) })
	return tb.db.Tx(ctx, "count attempt", func(tx *sql.Tx) error {
		for _, a := range sorted {
			if err := countAttempt(ctx, tx, a, now); err != nil {
				return err
			}
		}
		return nil
	})
}

func countAttempt(ctx context.Context, tx *sql.Tx, a *Attempt, now time.Time) error {
	var free int64
	err := tx.QueryRowContext(ctx, `INSERT INTO signin_failures (hash, failures, free_at, expires_at) VALUES ($1, 1, 0, $3)
		ON CONFLICT (hash) DO UPDATE SET
			failures = CASE WHEN signin_failures.expires_at > $2 THEN signin_failures.failures + 1 ELSE 1 END,
			free_at = CASE WHEN signin_failures.expires_at > $2 THEN signin_failures.free_at ELSE 0 END,
			expires_at = excluded.expires_at
		RETURNING failures, free_at`, a.Hash, database.Micros(now), database.Micros(now.Add(failuresFor))).Scan(&a.Failures, &free)
	if err != nil {
		return err
	}
	if wait := database.Moment(free).Sub(now); free > 0 && wait > 0 {
		e := beeos.Errorf(beeos.RateLimited, "too many sign-ins went wrong; wait a little and try again")
		e.RetryAfter = wait
		return e
	}
	wait := a.Wait(a.Failures)
	if wait == 0 {
		return nil
	}
	return database.Exec(ctx, tx, "make it wait", "UPDATE signin_failures SET free_at = $2 WHERE hash = $1", a.Hash, database.Micros(now.Add(wait)))
}

// ForgiveAttempt takes back what CountAttempt counted: the sign-in was good.
func (tb *Table) ForgiveAttempt(ctx context.Context, attempts []*Attempt) error {
	for _, a := range attempts {
		err := database.Exec(ctx, tb.db, "forgive attempt", "UPDATE signin_failures SET failures = failures - 1, free_at = 0 WHERE hash = $1 AND failures > 0", a.Hash)
		if err != nil {
			return err
		}
	}
	return nil
}

// ForgetFailures clears a counter.
func (tb *Table) ForgetFailures(ctx context.Context, hash []byte) error {
	return database.Exec(ctx, tb.db, "forget failures", "DELETE FROM signin_failures WHERE hash = $1", hash)
}
