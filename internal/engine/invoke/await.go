package invoke

import (
	"context"
	"fmt"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/watch"
)

// turn is one request that this node waits on.
type turn struct {
	c           *Calls
	id          string
	channel     string
	message     beeos.Message
	done        *beeos.Message // the terminal reply, when it was there at once
	repeat      bool           // an earlier call under the same idempotency key
	timeout     time.Duration
	keepTimeout bool // also while a person decides
	waiter      *watch.Waiter
	feed        *watch.Feed     // nil unless the caller wants live events
	shown       map[string]bool // questions that the caller has seen
	told        told            // how much of the text the caller has heard
	unwatch     func()

	start         time.Time   // from when the timeout counts; zero = from when the wait begins
	timer         *time.Timer // of the timeout
	personDecided bool        // a person decided when it last rang
	seen          int         // bytes of text that the agent had said when it last rang
	look          lookTimer
}

func (t *turn) close() {
	t.c.Leave(t.id, t.waiter)
	if t.unwatch != nil {
		t.unwatch()
	}
}

// await yields events until the terminal reply, the timeout or ctx's end.
func (t *turn) await(ctx context.Context, yield func(*beeos.Event) bool) error {
	t.startTimers()
	defer t.timer.Stop()
	for {
		select {
		case m := <-t.waiter.Terminal:
			return t.finish(m, yield)
		case <-t.waiter.Away():
			return t.agentAway()
		case <-t.feed.News():
			if !t.yieldLive(yield) {
				return errReaderLeft
			}
			t.noteLife()
		case <-t.look.C:
			if !t.yieldOpenAsks(ctx, yield) {
				return errReaderLeft
			}
			t.look.next()
		case <-t.timer.C:
			if err := t.extendOrTimeOut(ctx); err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// What follows is apart from the wait: what needs room on the stack there keeps
// it for as long as the wait takes.

//go:noinline
func (t *turn) startTimers() {
	if t.start.IsZero() {
		t.start = time.Now()
	}
	t.timer, t.look = time.NewTimer(t.timeout-time.Since(t.start)), t.startLookTimer()
}

// noteLife lets an agent that says something have its time again.
//
//go:noinline
func (t *turn) noteLife() {
	t.personDecided = false
	t.timer.Reset(t.remainingWait())
}

//go:noinline
func (t *turn) agentAway() error {
	return beeos.Errorf(beeos.AgentServiceUnavailable, "the agent went away while it worked on this and may come back; read task %s, or call again with the same idempotency key (over A2A, the messageId) until it has ended, to learn how", t.id)
}

// unreadable: the reply may be there, and nobody can tell.
//
//go:noinline
func (t *turn) unreadable(err error) error {
	return &beeos.Error{
		Code: beeos.AgentServiceUnavailable, Stored: beeos.StoredYes, RetryAfter: retryAfter, Err: err,
		Message: fmt.Sprintf("the database does not answer; the call is stored and goes on: read task %s in a moment, or call again with the same idempotency key", t.id),
	}
}

const retryAfter = 5 * time.Second

//go:noinline
func (t *turn) inFlight() error {
	return beeos.Errorf(beeos.Conflict, "a call with this idempotency_key is still in flight; ask again with the same key until it has ended, or read task %s", t.id)
}

// finish yields what is left before the terminal reply, and the reply.
func (t *turn) finish(m *beeos.Message, yield func(*beeos.Event) bool) error {
	if !t.yieldLive(yield) {
		return errReaderLeft
	}
	yield(t.last(m)) // whether it is listened to or not, the call is over
	return nil
}

// extendOrTimeOut finds a reason to wait longer, or returns the timeout.
func (t *turn) extendOrTimeOut(ctx context.Context) error {
	was := t.personDecided
	decides, err := t.c.personDecides(ctx, t.id)
	if beeos.CodeOf(err) == beeos.AgentServiceUnavailable && ctx.Err() == nil {
		return t.unreadable(err)
	}
	switch t.personDecided = decides; {
	case t.personDecided && t.keepTimeout:
		return beeos.Errorf(beeos.ServiceTimeout, "nobody has approved a tool call of the agent within %s; the call goes on: approve or reject it, then read task %s", t.timeout, t.id)
	case t.personDecided: // whose time is not the agent's
		t.start = time.Now()
		t.timer.Reset(min(t.timeout, decideLook))
		return nil
	case was: // the agent's begins again
		t.start = time.Now()
		t.timer.Reset(t.timeout)
		return nil
	}
	said, _ := t.c.opt.Bus.Snapshot(ctx, t.id)
	left := t.remainingWait()
	if len(said.Text) <= t.seen || left <= 0 {
		return beeos.Errorf(beeos.ServiceTimeout, "the agent did not reply within %s", time.Since(t.start).Round(time.Second))
	}
	t.seen = len(said.Text)
	t.timer.Reset(left)
	return nil
}

// last is the event that ends a call.
func (t *turn) last(m *beeos.Message) *beeos.Event {
	if t.repeat {
		m = FinalOutcome(m)
	}
	return &beeos.Event{Kind: beeos.EventMessage, Channel: t.channel, Turn: t.id, Message: m, Replayed: t.repeat}
}

// remainingWait is the timeout from now on, cut at the hard cap.
func (t *turn) remainingWait() time.Duration {
	return min(t.timeout, max(maxTimeout, t.timeout)-time.Since(t.start))
}

func (t *turn) yieldLive(yield func(*beeos.Event) bool) bool {
	events := t.feed.Take()
	for i := range events {
		if !t.yieldOnce(&events[i].Event, yield) {
			return false
		}
	}
	return true
}
