package invoke

import (
	"context"
	"time"

	"github.com/beeos/beeos"
)

// turn is one request that this node waits on.
type turn struct {
	c       *Calls
	id      string
	channel string
	message beeos.Message
	done    *beeos.Message // the terminal reply, when it was there at once
	repeat  bool           // an earlier call under the same idempotency key
	timeout time.Duration
	waiter  *waiter
	feed    *feed           // nil unless the caller wants live events
	shown   map[string]bool // questions that the caller has seen
	unwatch func()

	start time.Time   // from when the timeout counts
	timer *time.Timer // of the timeout
	asked bool        // a person decided when it last rang
	seen  int         // bytes of text that the agent had said when it last rang
	look  looking
}

func (t *turn) close() {
	t.c.waiters.remove(t.c.waiters.byTurn, t.id, t.waiter)
	if t.unwatch != nil {
		t.unwatch()
	}
}

// await yields events until the terminal reply, the timeout or ctx's end.
func (t *turn) await(ctx context.Context, yield func(*beeos.Event) bool) error {
	t.start, t.timer, t.look = t.c.opt.Now(), time.NewTimer(t.timeout), t.lookAgain()
	defer t.timer.Stop()
	for {
		select {
		case m := <-t.waiter.terminal:
			return t.finish(m, yield)
		case <-t.feed.news():
			if !t.flush(yield) {
				return errStopped
			}
			t.asked = false
			t.timer.Reset(t.patience())
		case <-t.look.C:
			if !t.showOpen(ctx, yield) {
				return errStopped
			}
			t.look.next()
		case <-t.timer.C:
			if err := t.overdue(ctx); err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// finish yields what is left before the terminal reply, and the reply.
func (t *turn) finish(m *beeos.Message, yield func(*beeos.Event) bool) error {
	if !t.flush(yield) {
		return errStopped
	}
	yield(t.last(m)) // whether it is listened to or not, the call is over
	return nil
}

// overdue finds a reason to wait longer, or returns the timeout.
func (t *turn) overdue(ctx context.Context) error {
	was := t.asked
	switch t.asked = t.c.personDecides(ctx, t.id); {
	case t.asked: // whose time is not the agent's
		t.start = t.c.opt.Now()
		t.timer.Reset(min(t.timeout, decideLook))
		return nil
	case was: // the agent's begins again
		t.start = t.c.opt.Now()
		t.timer.Reset(t.timeout)
		return nil
	}
	said, _ := t.c.opt.Bus.Snapshot(ctx, t.id)
	left := t.patience()
	if len(said.Text) <= t.seen || left <= 0 {
		return beeos.Errorf(beeos.ServiceTimeout, "the agent did not reply within %s", t.c.opt.Now().Sub(t.start).Round(time.Second))
	}
	t.seen = len(said.Text)
	t.timer.Reset(left)
	return nil
}

// last is the event that ends a call.
func (t *turn) last(m *beeos.Message) *beeos.Event {
	return &beeos.Event{Kind: beeos.EventMessage, Channel: t.channel, Turn: t.id, Message: m, Replayed: t.repeat}
}

// patience is the timeout from now on, cut at the hard cap.
func (t *turn) patience() time.Duration {
	return min(t.timeout, max(maxTimeout, t.timeout)-t.c.opt.Now().Sub(t.start))
}

func (t *turn) flush(yield func(*beeos.Event) bool) bool {
	events := t.feed.take()
	for i := range events {
		if !t.show(&events[i].Event, yield) {
			return false
		}
	}
	return true
}
