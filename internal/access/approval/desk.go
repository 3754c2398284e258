// Package approval lets a person decide about a tool call before it is made.
// A Desk (desk.go) takes questions, waits and expires them; Gate (gate.go) is
// the whole way of one question, from the rules (rule.go) over a person's
// decision (decide.go) to the one use of an approval. link.go makes the signed
// links with which somebody may decide who is not signed in, and show.go what
// people get to see.
//
// A question is a row in the store, so it survives the death of every process.
// It is bound to its caller, agent, turn, skill, tool, arguments and rule: the
// same question, asked again by an agent that was restarted, finds its row,
// and any other one is another question.
package approval

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/beeos/beeos/internal/engine/bus"
	"github.com/beeos/beeos/internal/engine/ledger"
	"github.com/beeos/beeos/internal/store"
)

// Timeout is how long a person has to decide, unless a rule says otherwise.
const Timeout = 5 * time.Minute

const (
	lookEvery   = time.Second // the net under lost notices
	forgetEvery = time.Hour
	lookAtOnce  = 500
)

// Options is what a Desk stands on.
type Options struct {
	DB     *store.DB
	Ledger *ledger.Ledger
	Bus    *bus.Bus
	Log    *slog.Logger
	Now    func() time.Time // nil = time.Now
	Web    string           // where the console is, for links
	Keep   time.Duration    // how long decisions are kept; 0 = for ever
}

// Desk is where questions lie until somebody decides.
type Desk struct {
	Options
	mu      sync.Mutex
	waiting map[string][]chan struct{} // by approval; each has room for one
}

// New returns a desk; Run must be running for those who wait.
func New(o Options) *Desk {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	d := &Desk{Options: o, waiting: map[string][]chan struct{}{}}
	if o.Bus != nil {
		o.Bus.OnControl(func(c bus.Control) {
			if c.Kind == bus.ApprovalChanged {
				d.wake(c.ID)
			}
		})
	}
	return d
}

// Run expires what nobody decided, withdraws what nobody waits for, and wakes
// whoever missed a notice, until ctx ends.
func (d *Desk) Run(ctx context.Context) error {
	look, forget := time.NewTicker(lookEvery), time.NewTicker(forgetEvery)
	defer look.Stop()
	defer forget.Stop()
	for {
		var err error
		select {
		case <-look.C:
			if err = d.sweep(ctx); err == nil {
				err = d.reread(ctx)
			}
		case <-forget.C:
			if d.Keep > 0 {
				err = d.DB.ForgetApprovals(ctx, d.Now().Add(-d.Keep))
			}
		case <-ctx.Done():
			return nil
		}
		if err != nil && ctx.Err() == nil {
			d.Log.Error("approvals", "err", err)
		}
	}
}

// sweep ends the questions that have no answer any more.
func (d *Desk) sweep(ctx context.Context) error {
	late, left, err := d.DB.LapsedApprovals(ctx, d.Now())
	if err != nil {
		return err
	}
	for _, id := range late {
		if _, err := d.expire(ctx, id); err != nil {
			return err
		}
	}
	for _, id := range left {
		if _, err := d.settle(ctx, store.Verdict{ID: id, State: store.ApprovalWithdrawn, By: "system", Reason: "the call has ended"}); err != nil {
			return err
		}
	}
	return nil
}

func (d *Desk) expire(ctx context.Context, id string) (store.Approval, error) {
	return d.settle(ctx, store.Verdict{ID: id, State: store.ApprovalExpired, By: "system", Reason: "nobody decided in time"})
}

// settle ends a question by itself; if somebody was faster, that counts.
func (d *Desk) settle(ctx context.Context, v store.Verdict) (store.Approval, error) {
	v.At = d.Now()
	a, won, err := d.DB.DecideApproval(ctx, v)
	if won {
		d.tell(a.ID)
	}
	return a, err
}

// tell lets every node know that an approval has changed.
func (d *Desk) tell(id string) {
	if d.Bus == nil {
		d.wake(id)
		return
	}
	d.Bus.Control(bus.Control{Kind: bus.ApprovalChanged, ID: id})
}

func (d *Desk) wake(id string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, w := range d.waiting[id] {
		select {
		case w <- struct{}{}:
		default: // it will look anyway
		}
	}
}

// reread looks for decisions whose notice was lost.
func (d *Desk) reread(ctx context.Context) error {
	d.mu.Lock()
	ids := make([]string, 0, len(d.waiting))
	for id := range d.waiting {
		ids = append(ids, id)
	}
	d.mu.Unlock()
	for part := range slices.Chunk(ids, lookAtOnce) {
		settled, err := d.DB.SettledApprovals(ctx, part)
		if err != nil {
			return err
		}
		for _, id := range settled {
			d.wake(id)
		}
	}
	return nil
}

// Wait returns an approval once it is decided, expired or withdrawn.
func (d *Desk) Wait(ctx context.Context, id string) (store.Approval, error) {
	wake := make(chan struct{}, 1)
	d.mu.Lock()
	d.waiting[id] = append(d.waiting[id], wake)
	d.mu.Unlock()
	defer func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.waiting[id] = slices.DeleteFunc(d.waiting[id], func(w chan struct{}) bool { return w == wake })
		if len(d.waiting[id]) == 0 {
			delete(d.waiting, id)
		}
	}()
	for {
		a, err := d.DB.Approval(ctx, id)
		if err == nil && a.Open() && !a.ExpiresAt.After(d.Now()) {
			a, err = d.expire(ctx, id)
		}
		if err != nil || !a.Open() {
			return a, err
		}
		select {
		case <-wake:
		case <-ctx.Done():
			return a, ctx.Err()
		}
	}
}
