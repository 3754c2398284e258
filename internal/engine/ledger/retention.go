package ledger

import (
	"context"
	"fmt"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store/database"
)

const (
	retentionTick  = time.Minute
	retentionSlice = 500 // channels per transaction: short enough not to hold up calls
)

// RunRetention forgets, until ctx ends, channels that have not changed for keep,
// with their messages, and idempotency keys past their time. keep 0 keeps
// channels for ever.
func (l *Ledger) RunRetention(ctx context.Context, keep time.Duration) error {
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
	err := l.runInWriter(ctx, func(ctx context.Context, b *batch) error {
		return b.w.exec(ctx, `DELETE FROM idempotency WHERE expires_at <= $1`, b.now)
	})
	if err != nil || keep <= 0 {
		return err
	}
	before := l.opt.Now().Add(-keep)
	for {
		n, err := l.forgetSomeChannels(ctx, before)
		if err != nil {
			return fmt.Errorf("forget old channels: %w", err)
		}
		if n < retentionSlice || ctx.Err() != nil {
			return nil
		}
	}
}

// forgetSomeChannels removes some idle channels.
func (l *Ledger) forgetSomeChannels(ctx context.Context, before time.Time) (int, error) {
	idle, err := l.idleChannels(ctx, before)
	if err != nil || len(idle) == 0 {
		return 0, err
	}
	return len(idle), l.forgetChannels(ctx, idle, before)
}

// isBusy is true of a channel with a request that has no terminal reply yet. A
// value, unlike EXISTS, PostgreSQL looks up channel by channel; it would read all
// messages otherwise.
const isBusy = `(SELECT 1 FROM messages m JOIN deliveries d ON d.turn = m.id WHERE m.channel = channels.id LIMIT 1) IS NOT NULL`

// idleChannels finds some channels that have not changed since before: by that
// time, or, as ids of single-shot channels begin with theirs, by their id.
func (l *Ledger) idleChannels(ctx context.Context, before time.Time) ([]string, error) {
	return database.ListTexts(ctx, l.db, "find idle channels", `SELECT id FROM channels WHERE NOT single_shot AND updated_at < $1 AND NOT (`+isBusy+`)
		UNION ALL SELECT id FROM channels WHERE single_shot AND id < $2 AND updated_at < $1 AND NOT (`+isBusy+`) LIMIT $3`,
		database.Micros(before), "ch-"+beeos.IDFloor(before), retentionSlice)
}

// forgetChannels removes the channels that are still idle: somebody may have written to
// one since it was found.
func (l *Ledger) forgetChannels(ctx context.Context, ids []string, before time.Time) error {
	look := stillIdle
	if l.db.Postgres {
		look = stillIdlePostgres
	}
	return l.runInWriter(ctx, func(ctx context.Context, b *batch) error {
		var still []any
		err := b.w.queryRows(ctx, look, database.Args(ids), func(r database.Row) error {
			var id string
			var updated int64
			err := r.Scan(&id, &updated)
			if updated < database.Micros(before) {
				still = append(still, id)
			}
			return err
		})
		if err != nil {
			return err
		}
		return b.forgetChannels(ctx, still)
	})
}

var (
	stillIdle         = newStatement(`SELECT id, updated_at FROM channels WHERE id IN (`, `?`, `)`)
	stillIdlePostgres = newStatement(`SELECT id, updated_at FROM channels WHERE id IN (`, `?`, `) FOR UPDATE SKIP LOCKED`)
	forgetMessages    = newStatement(`DELETE FROM messages WHERE channel IN (`, `?`, `)`)
	forgetChannels    = newStatement(`DELETE FROM channels WHERE id IN (`, `?`, `)`)
)

// forgetChannels removes channels and all that is said in them or known of them.
func (b *batch) forgetChannels(ctx context.Context, ids []any) error {
	if err := b.unlinkReplays(ctx, ids); err != nil {
		return err
	}
	for _, forget := range []*statement{forgetMessages, forgetChannels} {
		if err := b.w.execRows(ctx, forget, ids); err != nil {
			return err
		}
	}
	return nil
}
