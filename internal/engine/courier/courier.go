// Package courier sends what an outbox holds until its receivers take it: it claims
// what is due, lets each be attempted, writes down what came of it and when to try
// again (retry_schedule.go). Any number of processes may do so side by side, and one that
// dies loses nothing: its leases run out. Webhooks of tasks and channels of people
// are told by one each. What they have in common in HTTP is here too: how a request
// is signed (sign.go), made and judged (post.go), and what a failure is called
// (reason.go).
package courier

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store/database"
	"github.com/beeos/beeos/internal/store/outbox"
)

const (
	// AttemptWithin bounds an attempt.
	AttemptWithin = 10 * time.Second

	atOnce    = 32                            // attempts under way
	leaseLife = AttemptWithin + 5*time.Second // longer than an attempt, by what writing it down may take
)

// Outcome is what came of an attempt.
type Outcome struct {
	Response int           // HTTP status; 0 = there was no answer, or another protocol
	Wait     time.Duration // what the receiver asks for before the next attempt
	Err      error         // nil = it was taken
	Final    bool          // it is not tried again
	Idle     bool          // nothing was sent, for nobody needs it any more
}

// Options is what a courier stands on. R is what is known of a receiver.
type Options[R any] struct {
	What    string // a receiver is
	Queue   *outbox.Queue
	Retries []time.Duration // after each failed attempt; nil = those of webhooks

	// Receivers returns those that deliveries go to, by id.
	Receivers func(context.Context, []outbox.Delivery) (map[string]R, error)
	Send      func(context.Context, outbox.Delivery, R) Outcome
	// Gone is told that a receiver answered that it wants no more.
	Gone func(ctx context.Context, receiver string, now time.Time) error

	Log       *slog.Logger
	Now       func() time.Time
	Attempted func(outbox.Status) // nil = nobody counts
	Every     time.Duration       // how often it looks for what nobody told it about
}

// Courier makes attempts.
type Courier[R any] struct {
	opt  Options[R]
	wake chan struct{} // something may be due
}

// New returns a courier; Run makes it work.
func New[R any](opt Options[R]) *Courier[R] {
	opt.Log = cmp.Or(opt.Log, slog.New(slog.DiscardHandler))
	opt.Every = cmp.Or(opt.Every, time.Second)
	if opt.Now == nil {
		opt.Now = time.Now
	}
	if opt.Retries == nil {
		opt.Retries = retries
	}
	return &Courier[R]{opt, make(chan struct{}, 1)}
}

// Wake says that something may be due.
func (c *Courier[R]) Wake() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// Run makes the attempts that are due until ctx ends.
func (c *Courier[R]) Run(ctx context.Context) error {
	tick := time.NewTicker(c.opt.Every)
	defer tick.Stop()
	var under sync.WaitGroup
	defer under.Wait()
	free := make(chan struct{}, atOnce) // holds one per attempt under way
	for {
		c.logFailure(ctx, c.startAttempts(ctx, &under, free))
		select {
		case <-c.wake:
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// startAttempts claims as many deliveries as there is room for and lets each of them
// be attempted. Every end wakes the courier, so that the room is used again.
func (c *Courier[R]) startAttempts(ctx context.Context, under *sync.WaitGroup, free chan struct{}) error {
	room := cap(free) - len(free)
	if room == 0 {
		return nil
	}
	var list []outbox.Delivery
	var receivers map[string]R
	err := database.Within(ctx, func(ctx context.Context) (err error) {
		now := c.opt.Now()
		if due, err := c.opt.Queue.AnyDue(ctx, now); err != nil || !due {
			return err
		}
		if list, err = c.opt.Queue.ClaimDeliveries(ctx, beeos.NewID(), now, now.Add(leaseLife), room); err != nil || len(list) == 0 {
			return err
		}
		receivers, err = c.opt.Receivers(ctx, list)
		return err
	})
	if err != nil {
		return err
	}
	for _, d := range list {
		r, ok := receivers[d.Receiver]
		if !ok {
			continue // deleted meanwhile
		}
		free <- struct{}{}
		under.Go(func() {
			defer c.Wake()
			defer func() { <-free }()
			c.logFailure(ctx, c.attempt(ctx, d, r))
		})
	}
	return nil
}

// attempt sends a delivery once and writes down what came of it.
func (c *Courier[R]) attempt(ctx context.Context, d outbox.Delivery, r R) error {
	begun := time.Now()
	came := c.opt.Send(ctx, d, r)
	if came.Err != nil && ctx.Err() != nil {
		return nil // we are stopping: whoever has the lease next tries again
	}
	ctx = context.WithoutCancel(ctx) // what was taken is not to be sent again
	now := c.opt.Now()
	last := outbox.Attempt{At: now.UTC(), Response: came.Response, TookMS: time.Since(begun).Milliseconds()}
	if came.Err != nil {
		last.Error = came.Err.Error()
	}
	d.Error = last.Error
	if !came.Idle {
		d.Attempts, d.Tries = d.Attempts+1, d.Tries+1
		d.AttemptedAt, d.Response, d.History = now, last.Response, append(d.History, last)
	}
	next, again := c.retryPause(d.Tries, came.Wait)
	gone := came.Response == http.StatusGone
	switch {
	case came.Err == nil:
		d.Status, d.Due, d.CompletedAt = outbox.Succeeded, time.Time{}, now
	case came.Idle:
		d.Status, d.Due, d.CompletedAt = outbox.Dead, time.Time{}, now
	case gone || came.Final || !again:
		d.Status, d.Due, d.CompletedAt = outbox.Dead, time.Time{}, now
		c.opt.Log.WarnContext(ctx, c.opt.What+" delivery given up", "delivery", d.ID, c.opt.What, d.Receiver, "attempts", d.Attempts, "status", came.Response, "reason", last.Error)
	default:
		d.Status, d.Due = outbox.Failed, now.Add(next)
	}
	if c.opt.Attempted != nil && !came.Idle {
		c.opt.Attempted(d.Status)
	}
	if err := c.opt.Queue.FinishDelivery(ctx, d); err != nil {
		return err
	}
	if gone && c.opt.Gone != nil {
		return c.opt.Gone(ctx, d.Receiver, now)
	}
	return nil
}

// logFailure logs what went wrong; the next round tries again.
func (c *Courier[R]) logFailure(ctx context.Context, err error) {
	if err != nil && ctx.Err() == nil {
		c.opt.Log.ErrorContext(ctx, "send to a "+c.opt.What, "err", err)
	}
}
