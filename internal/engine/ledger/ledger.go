// Package ledger is the message log: channels, messages, idempotency keys and
// deliveries with leases, on the same SQL as the store. It is the truth of
// BeeOS: what it acknowledged is on disk, and one transaction changes a
// message together with everything that hangs on it.
//
// All writes go through a group-committing writer (writer.go) that applies
// whatever has queued as a few multi-row statements (apply.go, rows.go), on a
// connection of its own (connection.go).
// Offsets rise per channel and come from the channel's row under its lock.
// Exactly one terminal reply per request is a unique index, nothing else; who ends
// the request's delivery is the first, and need not be counted.
// delivery.go leases requests to agents, end_deliveries.go ends them, and record.go says
// with each reply how the call went, with its trail (trail.go); routes.go numbers
// the ways that calls take, usage.go adds up what answers took, and ended_requests.go tells
// those who count; traces.go keeps the place of requests in traces. read.go reads, turns.go and conversations.go list, load.go
// counts what is open, retention.go forgets.
package ledger

import (
	"context"
	"fmt"
	"hash/maphash"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store/database"
)

// writersOnPostgres is how many batches may commit side by side there; one
// channel always meets the same writer, so its offsets never contend.
const writersOnPostgres = 2

// Options tunes a Ledger; the zero value is fine.
type Options struct {
	Log *slog.Logger
	Now func() time.Time // nil = the database's clock
	// Committed is told about every durable message after its commit, in
	// order, before its publisher is. It must not block.
	Committed func([]beeos.Message)
	// Commit is told how many operations shared a commit, and how long it took.
	Commit func(n int, took time.Duration)
	// Ended is told which requests a commit has ended, after everybody else. It must
	// not block. nil = nobody wants to know.
	Ended func([]Ended)
	// Lost is told how many leases ended without a reply, and why.
	Lost func(why beeos.AttemptEnd, n int)
	// Redelivered is told how many requests were handed out again, and why their
	// attempts before had ended: a beeos.AttemptEnd, Resumed or Unknown.
	Redelivered func(why string, n int)
}

// Why a request is handed out again, besides how its last attempt ended.
const (
	Resumed = "resumed" // the instance never stopped to work on it
	Unknown = "unknown" // its trail is full
)

// Ledger is the message log.
type Ledger struct {
	db      *database.DB
	opt     Options
	writers []*writer
	seed    maphash.Seed
	done    sync.WaitGroup
	freed   atomic.Pointer[func(agentID string)]
	routes  knownRoutes
	probe   probe
}

// OnFreed sets who is told that an agent's lane has become free. It must not
// block.
func (l *Ledger) OnFreed(f func(agentID string)) { l.freed.Store(&f) }

// Open starts the writers on db.
func Open(ctx context.Context, db *database.DB, opt Options) (*Ledger, error) {
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	if opt.Now == nil {
		opt.Now = db.Now
	}
	if opt.Committed == nil {
		opt.Committed = func([]beeos.Message) {}
	}
	if opt.Commit == nil {
		opt.Commit = func(int, time.Duration) {}
	}
	if opt.Lost == nil {
		opt.Lost = func(beeos.AttemptEnd, int) {}
	}
	if opt.Redelivered == nil {
		opt.Redelivered = func(string, int) {}
	}
	l := &Ledger{db: db, opt: opt, seed: maphash.MakeSeed()}
	n := 1
	if db.Postgres {
		n = writersOnPostgres
	}
	for range n {
		w := newWriter(l)
		if err := w.connect(ctx); err != nil {
			l.Close()
			return nil, fmt.Errorf("open ledger: %w", err)
		}
		l.writers = append(l.writers, w)
		l.done.Go(w.run)
	}
	return l, nil
}

// Now is the time by which leases and deadlines are written and read, on all nodes
// alike.
func (l *Ledger) Now() time.Time { return l.opt.Now() }

// Close lets queued writes commit and stops the writers.
func (l *Ledger) Close() {
	for _, w := range l.writers {
		w.stop()
	}
	l.done.Wait()
}

// writer returns the one that owns the channel.
func (l *Ledger) writer(channel string) *writer {
	if len(l.writers) == 1 {
		return l.writers[0]
	}
	return l.writers[maphash.String(l.seed, channel)%uint64(len(l.writers))]
}
