package grants

import (
	"cmp"
	"context"
	"database/sql"
	"slices"
	"sync/atomic"
	"time"

	"github.com/beeos/beeos/internal/store/database"
)

// Rotation replaces the good token of a chain by its successor.
type Rotation struct {
	FamilyID  string
	Token     []byte // the one that is presented
	Successor []byte
	At        time.Time
	ExpiresAt time.Time
}

// rotations commits rotations in groups: whoever finds nobody writing writes
// for all who wait, so that a busy server pays one fsync for many. It needs no
// goroutine of its own.
type rotations struct {
	db      *database.DB
	turn    chan struct{} // held by the one who writes
	waiting chan *rotation
}

type rotation struct {
	Rotation
	gone atomic.Bool // nobody waits for it any more
	won  bool
	err  error
	done chan struct{}
}

const (
	rotationBatch  = 256
	rotationQueue  = 4096
	rotationWithin = 30 * time.Second
)

func newRotations(db *database.DB) *rotations {
	return &rotations{db: db, turn: make(chan struct{}, 1), waiting: make(chan *rotation, rotationQueue)}
}

// Rotate reports whether r won: its token was the good one. The answer comes
// after the commit.
func (tb *Table) Rotate(ctx context.Context, r Rotation) (won bool, err error) {
	return tb.queue.rotate(ctx, r)
}

func (q *rotations) rotate(ctx context.Context, r Rotation) (won bool, err error) {
	op := &rotation{Rotation: r, done: make(chan struct{})}
	select {
	case q.waiting <- op:
	case <-ctx.Done():
		return false, ctx.Err()
	}
	for {
		select {
		case <-op.done:
			return op.won, op.err
		case <-ctx.Done():
			// Written much later it would look like a theft to the next try.
			op.gone.Store(true)
			return false, ctx.Err()
		case q.turn <- struct{}{}:
			if batch := q.take(); len(batch) > 0 {
				q.commit(ctx, batch)
			}
			<-q.turn
		}
	}
}

func (q *rotations) take() (batch []*rotation) {
	for len(batch) < rotationBatch {
		select {
		case op := <-q.waiting:
			if !op.gone.Load() {
				batch = append(batch, op)
			}
		default:
			return batch
		}
	}
	return batch
}

// commit writes a batch. It goes on when the one who writes is gone: the
// others wait for it.
func (q *rotations) commit(ctx context.Context, batch []*rotation) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), rotationWithin)
	defer cancel()
	// One order for all replicas, so that none waits in a circle.
	slices.SortStableFunc(batch, func(a, b *rotation) int { return cmp.Compare(a.FamilyID, b.FamilyID) })
	err := q.db.Tx(ctx, "rotate refresh tokens", func(tx *sql.Tx) error {
		stmt, err := tx.PrepareContext(ctx, `UPDATE oauth_families SET previous = token, token = $3, generation = generation + 1, rotated_at = $4, expires_at = $5
			WHERE id = $1 AND token = $2`)
		if err != nil {
			return err
		}
		defer stmt.Close()
		for _, r := range batch {
			res, err := stmt.ExecContext(ctx, r.FamilyID, r.Token, r.Successor, database.Micros(r.At), database.Micros(r.ExpiresAt))
			if err != nil {
				return err
			}
			n, err := res.RowsAffected()
			if err != nil {
				return err
			}
			r.won = n == 1
		}
		return nil
	})
	for _, r := range batch {
		r.won, r.err = r.won && err == nil, err
		close(r.done)
	}
}
