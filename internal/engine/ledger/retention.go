package ledger

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/beeos/beeos"
)

const (
	retentionTick  = time.Minute
	retentionSlice = 500 // channels per transaction: short enough not to hold up calls
)

// Retain forgets, until ctx ends, channels that have not changed for keep,
// with their messages, and idempotency keys past their time. keep 0 keeps
// channels for ever.
func (l *Ledger) Retain(ctx context.Context, keep time.Duration) error {
	tick := time.NewTicker(retentionTick)
	defer tick.Stop()
	for {
		if err := l.Forget(ctx, keep); err != nil && ctx.Err() == nil {
			l.opt.Log.Error("retention", "err", err)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// Forget is one round of Retain.
func (l *Ledger) Forget(ctx context.Context, keep time.Duration) error {
	err := l.do(ctx, func(ctx context.Context, b *batch) error {
		return b.w.exec(ctx, `DELETE FROM idempotency WHERE expires_at <= $1`, b.now)
	})
	if err != nil || keep <= 0 {
		return err
	}
	before := l.opt.Now().Add(-keep)
	for {
		n, err := l.forgetSlice(ctx, before)
		if err != nil {
			return fmt.Errorf("forget old channels: %w", err)
		}
		if n < retentionSlice || ctx.Err() != nil {
			return nil
		}
	}
}

// forgetSlice removes some idle channels.
func (l *Ledger) forgetSlice(ctx context.Context, before time.Time) (int, error) {
	idle, err := l.idle(ctx, before)
	if err != nil || len(idle) == 0 {
		return 0, err
	}
	return len(idle), l.forget(ctx, idle, before)
}

// idle finds some channels that have not changed since before. Ids of
// single-shot channels begin with their time, so the primary key finds the old
// ones.
func (l *Ledger) idle(ctx context.Context, before time.Time) (ids []any, err error) {
	rows, err := l.db.QueryContext(ctx, `SELECT id FROM channels WHERE updated_at < $1 AND (NOT single_shot OR id < $2)
		AND NOT EXISTS (SELECT 1 FROM deliveries WHERE channel = channels.id) LIMIT $3`,
		micros(before), "ch-"+beeos.IDFloor(before), retentionSlice)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, rows.Err()
}

// forget removes the channels that are still idle: somebody may have written to
// one since it was found.
func (l *Ledger) forget(ctx context.Context, ids []any, before time.Time) error {
	look := stillIdle
	if l.db.Postgres {
		look = stillIdlePostgres
	}
	return l.do(ctx, func(ctx context.Context, b *batch) error {
		var still []any
		err := b.w.queryRows(ctx, look, ids, func(r *sql.Rows) error {
			var id string
			var updated int64
			err := r.Scan(&id, &updated)
			if updated < micros(before) {
				still = append(still, id)
			}
			return err
		})
		if err != nil {
			return err
		}
		if _, err := b.w.execRows(ctx, forgetMessages, still); err != nil {
			return err
		}
		_, err = b.w.execRows(ctx, forgetChannels, still)
		return err
	})
}

var (
	stillIdle         = newStatement(`SELECT id, updated_at FROM channels WHERE id IN (`, `?`, `)`)
	stillIdlePostgres = newStatement(`SELECT id, updated_at FROM channels WHERE id IN (`, `?`, `) FOR UPDATE SKIP LOCKED`)
	forgetMessages    = newStatement(`DELETE FROM messages WHERE channel IN (`, `?`, `)`)
	forgetChannels    = newStatement(`DELETE FROM channels WHERE id IN (`, `?`, `)`)
)
