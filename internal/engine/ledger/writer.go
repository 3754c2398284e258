package ledger

import (
	"cmp"
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/beeos/beeos"
)

const (
	maxBatch     = 512
	commitTries  = 4
	queueLength  = 4096
	retryPause   = 5 * time.Millisecond
	longestPause = 320 * time.Millisecond
	rideOut      = 5 * time.Second  // for a database that restarts, or hands over to its standby
	settleWithin = 20 * time.Second // the same, when it has to tell whether it took a batch
	commitWithin = 30 * time.Second

	rollbackWithin = 5 * time.Second
)

// op is one queued write. apply fills its outcome; done is closed after the
// commit, or after the failure in err.
type op struct {
	opening *Opening                            // a request
	message *beeos.Message                      // anything else that is appended
	answers beeos.MessageType                   // what the message's request must be waiting for
	attempt *Attempt                            // which brought the message, if that ends a request; nil = none did
	do      func(context.Context, *batch) error // any other write

	dup  *Duplicate
	busy *beeos.Message // the agent_busy that answered the opening
	err  error
	done chan struct{}

	within time.Duration // how long whoever submits it waits; 0 = writeWait
	state  atomic.Int32
}

// writer commits operations in groups: while one group is being synced to
// disk the next one queues up, so a busy ledger pays one fsync for many.
type writer struct {
	l     *Ledger
	queue chan *op
	quit  chan struct{}
	ended chan struct{} // closed when run has returned
	once  sync.Once
	connection
	away bool // the database did not come back in time
	ops  []*op
	seq  int64
	slot int64 // whose rows of sums are this writer's alone
}

func newWriter(l *Ledger) *writer {
	return &writer{l: l, connection: connection{db: l.db}, queue: make(chan *op, queueLength), quit: make(chan struct{}), ended: make(chan struct{}), slot: rand.Int64()}
}

func (w *writer) stop() { w.once.Do(func() { close(w.quit) }) }

// submit queues an operation and waits for its commit.
func (w *writer) submit(ctx context.Context, o *op) error {
	o.done = make(chan struct{})
	timer := startTimer(cmp.Or(o.within, writeWait))
	defer stopTimer(timer)
	select {
	case w.queue <- o:
	default:
		if err := w.awaitRoom(ctx, o, timer); err != nil {
			return err
		}
	}
	select {
	case <-o.done:
		return o.err
	case <-w.ended:
		select {
		case <-o.done: // the last batch had it
			return o.err
		default:
			return errClosed
		}
	case <-ctx.Done():
		o.leave() //nolint:errcheck // whoever has gone does not ask
		return ctx.Err()
	case <-timer.C:
		return o.leave()
	}
}

// awaitRoom queues an operation where many wait already.
func (w *writer) awaitRoom(ctx context.Context, o *op, timer *time.Timer) error {
	select {
	case w.queue <- o:
		return nil
	case <-w.quit:
		return errClosed
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return o.leave()
	}
}

var errClosed = beeos.Errorf(beeos.AgentServiceUnavailable, "the server is shutting down; try again in a moment")

func (w *writer) run() {
	defer close(w.ended)
	defer w.disconnect()
	for {
		select {
		case o := <-w.queue:
			if w.ops = w.ops[:0]; o.take() {
				w.ops = append(w.ops, o)
			}
		case <-w.quit:
			w.drain()
			return
		}
		if w.takeQueued(); len(w.ops) > 0 {
			w.commit(w.ops)
		}
	}
}

// takeQueued takes what else has queued.
func (w *writer) takeQueued() {
	for len(w.ops) < maxBatch {
		select {
		case o := <-w.queue:
			if o.take() {
				w.ops = append(w.ops, o)
			}
		default:
			return
		}
	}
}

func (w *writer) drain() {
	for {
		w.ops = w.ops[:0]
		if w.takeQueued(); len(w.ops) == 0 {
			return
		}
		w.commit(w.ops)
	}
}

// commit applies ops in one transaction. When that fails for a reason of one
// operation's own, each is tried alone, so that it alone fails.
func (w *writer) commit(ops []*op) {
	start := time.Now()
	b, unsure, err := w.transact(ops)
	if err != nil && len(ops) > 1 && !unsure && !w.isBroken() {
		for i := range ops {
			w.commit(ops[i : i+1])
		}
		return
	}
	if err != nil {
		for _, o := range ops {
			if o.err = errNotStored(err); unsure {
				o.err = errUnknown(err)
			}
			close(o.done)
		}
		w.l.opt.Log.Error("ledger commit failed", "operations", len(ops), "err", err)
		return
	}
	w.l.opt.Commit(len(ops), time.Since(start))
	if len(b.committed) > 0 {
		w.l.opt.Committed(b.committed)
	}
	if f := w.l.freed.Load(); f != nil {
		for _, agent := range b.freed {
			(*f)(agent)
		}
	}
	for _, o := range ops {
		close(o.done)
	}
	w.tellEnded(b.ended) // last: those who count can wait, those who call cannot
}

// transact runs the batch, again when the database says that it may succeed.
// A database that has just gone away is waited for; while it stays away,
// those who come are told soon. unsure says that nobody knows whether the batch
// was stored.
func (w *writer) transact(ops []*op) (done *batch, unsure bool, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), commitWithin)
	defer cancel()
	var broke time.Time
	var sent *batch
	for try := 1; ; try++ {
		b, err := w.attempt(ctx, ops, &sent)
		if err == nil {
			w.away = false
			return b, false, nil
		}
		gone := w.isBroken()
		if gone && broke.IsZero() {
			broke = time.Now()
		}
		patient := gone && !w.away && !w.stopping() && time.Since(broke) < rideOut
		if sent != nil {
			patient = !w.stopping() && time.Since(broke) < settleWithin
		}
		if (!gone && sent == nil && !w.l.db.Retryable(err)) || (try >= commitTries && !patient) || ctx.Err() != nil {
			w.away = gone
			return nil, sent != nil, err
		}
		w.pause(min(retryPause<<(2*try), longestPause))
	}
}

// attempt runs the batch once. unsure is the one before, when the answer to
// its COMMIT was lost: only the database knows, so it is asked first.
func (w *writer) attempt(ctx context.Context, ops []*op, unsure **batch) (*batch, error) {
	if w.isBroken() {
		if err := w.reconnect(ctx); err != nil {
			return nil, err
		}
	}
	if *unsure != nil {
		if landed, err := (*unsure).isCommitted(ctx); landed || err != nil {
			return *unsure, err
		}
		*unsure = nil
	}
	b := newBatch(w, ops)
	sent, err := b.run(ctx)
	if err != nil && sent && w.isBroken() {
		*unsure = b
	}
	return b, err
}

func (w *writer) stopping() bool {
	select {
	case <-w.quit:
		return true
	default:
		return false
	}
}

func (w *writer) pause(d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-w.quit:
	}
}
