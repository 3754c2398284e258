package database

import (
	"cmp"
	"context"
	"database/sql"
	"slices"
	"sync/atomic"
	"time"
)

// Batch commits runs of one statement in groups: whoever finds nobody writing
// writes for all who wait, so that a busy server pays one fsync for many, and no
// other writer queues behind them one by one. It needs no goroutine of its own.
type Batch struct {
	db      *DB
	what    string
	query   string
	Turn    chan struct{} // held by the one who writes
	waiting chan *batchedRun
}

type batchedRun struct {
	order   string
	args    []any
	gone    atomic.Bool // nobody waits for it any more
	changed bool
	err     error
	done    chan struct{}
}

const (
	batchSize   = 256
	batchQueue  = 4096
	batchWithin = 30 * time.Second
)

// NewBatch returns what runs a writing statement of one row.
func (db *DB) NewBatch(what, query string) *Batch {
	return &Batch{db: db, what: what, query: query, Turn: make(chan struct{}, 1), waiting: make(chan *batchedRun, batchQueue)}
}

// Change runs the statement and reports whether it met any row. The answer comes
// after the commit. Runs for the same row have the same order; an argument that
// the database does not take fails all who are written with it.
func (b *Batch) Change(ctx context.Context, order string, args ...any) (changed bool, err error) {
	run := &batchedRun{order: order, args: args, done: make(chan struct{})}
	select {
	case b.waiting <- run:
	case <-ctx.Done():
		return false, ctx.Err()
	}
	for {
		select {
		case <-run.done:
			return run.changed, run.err
		case <-ctx.Done():
			// Done much later it would surprise whoever tries again.
			run.gone.Store(true)
			return false, ctx.Err()
		case b.Turn <- struct{}{}:
			if group := b.take(); len(group) > 0 {
				b.commit(ctx, group)
			}
			<-b.Turn
		}
	}
}

func (b *Batch) take() (group []*batchedRun) {
	for len(group) < batchSize {
		select {
		case run := <-b.waiting:
			if !run.gone.Load() {
				group = append(group, run)
			}
		default:
			return group
		}
	}
	return group
}

// commit runs the statement for a group. It goes on when the one who writes is
// gone: the others wait for it.
func (b *Batch) commit(ctx context.Context, group []*batchedRun) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), batchWithin)
	defer cancel()
	// Alike on all replicas, so that none waits in a circle.
	slices.SortStableFunc(group, func(a, b *batchedRun) int { return cmp.Compare(a.order, b.order) })
	err := b.db.Tx(ctx, b.what, func(tx *sql.Tx) error {
		for _, run := range group {
			var err error
			if run.changed, err = Change(ctx, tx, b.what, b.query, run.args...); err != nil {
				return err
			}
		}
		return nil
	})
	for _, run := range group {
		run.changed, run.err = run.changed && err == nil, err
		close(run.done)
	}
}
