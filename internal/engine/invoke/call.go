package invoke

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/budget"
	"github.com/beeos/beeos/internal/engine/ledger"
	"github.com/beeos/beeos/internal/engine/watch"
)

// Do calls the agent. It yields live events (with Live), then exactly one
// terminal EventMessage or exactly one error. When ctx ends it stops waiting;
// the agent goes on unless the surface cancels it. Until it is over the request
// is not to be changed.
//
// Thousands of calls wait at once, each on a stack that stays as large as the
// frames under the wait make it: below here events and requests go by pointer,
// and what needs room returns before await does its waiting.
func (c *Calls) Do(ctx context.Context, r *Request) iter.Seq2[beeos.Event, error] {
	if c.isTraced(ctx) {
		return c.recordCall(ctx, r, c.runTraced)
	}
	return c.recordCall(ctx, r, c.runCall)
}

// recordCall makes an iterator of a call and records how it ended.
func (c *Calls) recordCall(ctx context.Context, r *Request, do func(context.Context, *Request, func(*beeos.Event) bool) error) iter.Seq2[beeos.Event, error] {
	return func(yield func(beeos.Event, error) bool) {
		c.underway.begin()
		defer c.underway.end()
		start := time.Now()
		var last *beeos.Message
		err := do(ctx, r, func(ev *beeos.Event) bool {
			if ev.Message != nil {
				last = ev.Message
			}
			return yield(*ev, nil)
		})
		c.record(r, start, last, err)
		if err != nil && !errors.Is(err, errReaderLeft) {
			watch.YieldError(yield, err)
		}
	}
}

// outcomeLeft is that of a call whose caller did not wait for the end.
const outcomeLeft = "disconnected"

// errReaderLeft: whoever ranges over Do has stopped.
var errReaderLeft = errors.New("stopped")

// Last ranges over a call and returns its terminal message.
func Last(seq iter.Seq2[beeos.Event, error]) (*beeos.Message, error) {
	var last *beeos.Message
	for ev, err := range seq {
		if err != nil {
			return nil, err
		}
		if ev.Message != nil {
			last = ev.Message
		}
	}
	return last, nil
}

func (c *Calls) runCall(ctx context.Context, r *Request, yield func(*beeos.Event) bool) error {
	t, err := c.beginTurn(ctx, r)
	if err != nil {
		return err
	}
	defer t.close()
	switch {
	case t.done != nil:
		yield(t.last(t.done))
		return nil
	case t.repeat && r.Join:
		return c.joinFirstCall(ctx, r, t, yield)
	case t.repeat:
		return t.inFlight()
	}
	return t.await(ctx, yield)
}

// joinFirstCall waits for the first call under an idempotency key.
func (c *Calls) joinFirstCall(ctx context.Context, r *Request, first *turn, yield func(*beeos.Event) bool) error {
	r.TurnID, r.Channel = first.id, first.channel // so that who gives up knows what goes on
	return c.resume(ctx, r, func(ev *beeos.Event) bool {
		if ev.Replayed = true; ev.Kind == beeos.EventMessage {
			ev.Message = FinalOutcome(ev.Message)
		}
		return yield(ev)
	})
}

// Send appends a request and hands it to the agent without waiting. A
// repeated idempotency key gives the first request's message.
func (c *Calls) Send(ctx context.Context, r Request) (beeos.Message, error) {
	s, err := c.Submit(ctx, r)
	return s.Message, err
}

// Sent is a request that was stored.
type Sent struct {
	Message  beeos.Message
	Done     *beeos.Message // its terminal reply, when that was there at once
	Replayed bool           // an earlier call under the same idempotency key stored it
}

// Submit is Send with more detail about what was stored.
func (c *Calls) Submit(ctx context.Context, r Request) (Sent, error) {
	r.Live = false
	ctx, span := c.startSpan(ctx, &r)
	t, err := c.beginTurn(ctx, &r)
	c.endSpan(span, &r, t, nil, err)
	if err != nil {
		return Sent{}, err
	}
	t.close()
	return Sent{t.message, t.done, t.repeat}, nil
}

// beginTurn checks, stores and dispatches a request.
func (c *Calls) beginTurn(ctx context.Context, r *Request) (t *turn, err error) {
	began := time.Now()
	if len(r.Chain) == 0 && c.underway.isStopping() {
		return nil, errStopping
	}
	if err := c.checkRequest(ctx, r); err != nil {
		return nil, err
	}
	taken, refused := c.admit(ctx, r)
	if refused != nil && r.IdempotencyKey == "" {
		return nil, refused
	}
	defer func() {
		if t == nil || t.repeat {
			taken.Return()
		}
	}()
	open := &ledger.Opening{}
	if open.Idempotency, err = c.idempotency(r); err != nil {
		return nil, err
	}
	if refused != nil { // what was answered before can be had for nothing, and without the agent
		dup, err := c.opt.Ledger.FindByKey(ctx, open.Idempotency)
		if err != nil || dup == nil {
			return nil, cmp.Or(err, refused)
		}
		return c.repeat(ctx, r, dup)
	}
	if r.Check != nil {
		if err := ctx.Err(); err != nil {
			return nil, err // nobody waits for what it would find
		}
		if err := r.Check(); err != nil {
			return nil, err
		}
	}
	if err := c.composeOpening(ctx, r, open); err != nil {
		return nil, err
	}
	t = &turn{c: c, id: open.Message.ID, channel: open.Channel.ID, timeout: c.timeout(r), keepTimeout: r.KeepTimeout, start: began}
	// Before the message exists, so that its reply cannot be missed.
	t.waiter = c.AwaitReply(t.id)
	if r.Live {
		t.feed = watch.NewFeed(t.id)
		t.unwatch = c.opt.Bus.Watch(t.channel, t.feed.Push)
	}
	// Not cut short when the caller leaves: what is stored must be dispatched.
	open.Within = min(storeAtMost, max(storeAtLeast, t.timeout+storeLate-time.Since(began)))
	dup, busy, err := c.opt.Ledger.BeginRequest(context.WithoutCancel(ctx), open)
	switch {
	case err != nil:
		t.close()
		c.dispatchLate(ctx, r, open, err)
		return nil, err
	case dup != nil:
		t.close()
		return c.repeat(ctx, r, dup)
	case busy != nil:
		t.done = busy
	default:
		c.dispatch(ctx, r, open)
	}
	t.message = open.Message
	return t, nil
}

// How long a caller waits for its request to be stored: as long as for the reply,
// and a moment more.
const (
	storeLate    = time.Second
	storeAtLeast = time.Second
	storeAtMost  = 30 * time.Second
)

// admit lets a request in that somebody would take, and that its budgets allow.
func (c *Calls) admit(ctx context.Context, r *Request) (budget.Taken, error) {
	if err := c.checkPresence(ctx, r.Agent); err != nil {
		return nil, err
	}
	return c.opt.Budgets.Take(ctx, &r.Caller, r.Agent)
}

// checkPresence is why nobody would take the request now; nil = somebody would, or
// it can wait.
func (c *Calls) checkPresence(ctx context.Context, a *beeos.Agent) error {
	if a.Definition.DeliveryMode == beeos.DeliverQueue || c.opt.Bus.Present(ctx, a.ID) {
		return nil
	}
	return beeos.Errorf(beeos.AgentOffline, "agent %q is offline: no instance of it is connected; start it and try again", a.Name)
}

func (c *Calls) timeout(r *Request) time.Duration {
	switch {
	case r.Timeout > 0:
		return r.Timeout
	case r.Agent.Timeout > 0:
		return r.Agent.Timeout
	}
	return c.opt.Timeout
}

// repeat answers a call whose idempotency key is known.
func (c *Calls) repeat(ctx context.Context, r *Request, dup *ledger.Duplicate) (*turn, error) {
	reply, err := c.opt.Ledger.Terminal(ctx, dup.Turn)
	if err != nil {
		return nil, fmt.Errorf("read the stored reply: %w", err)
	}
	t := &turn{c: c, id: dup.Turn, channel: dup.Channel, done: reply, repeat: true, timeout: c.timeout(r)}
	if t.message, err = c.opt.Ledger.FindMessage(ctx, dup.Channel, dup.Turn); err != nil {
		return nil, fmt.Errorf("read the first request: %w", err)
	}
	t.waiter = &watch.Waiter{}
	return t, nil
}

func (c *Calls) record(r *Request, start time.Time, last *beeos.Message, err error) {
	rec := CallRecord{
		At: start, Surface: r.Surface, Caller: r.Caller.Name, AgentID: r.Agent.ID, AgentName: r.Agent.Name,
		What: r.Call.Tool, Method: cmp.Or(r.Call.Method, "message"), Took: time.Since(start), Outcome: "ok",
	}
	if rec.What == "" {
		rec.What = "message"
	}
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, errReaderLeft):
		rec.Outcome = outcomeLeft
	case err != nil:
		rec.Outcome = string(beeos.CodeOf(err))
	case last != nil:
		rec.Preview = last.Body
		if last.IsError() {
			rec.Outcome = string(last.Type)
		}
	}
	c.opt.OnCall(rec)
}
