package mcp

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/wire/httpd"
)

// A client cancels by the id of its request, in whatever replica gets the
// notification. Only the replica that runs the call knows which turn that is,
// so a replica that does not is asked by news. There the
// call's own goroutine stops waiting and tells the agent.

// flights are the calls that this replica runs for sessions.
type flights struct {
	mu      sync.Mutex
	running map[string]*flight
}

// flight is one call under way.
type flight struct {
	request string // how replicas name it; empty outside of sessions
	channel string // empty until known, for a call that has one of its own
	turn    string
	cancel  context.CancelCauseFunc
	stay    func() bool // forgets about our own end; nil outside of sessions
	enough  *time.Timer // ends a wait that the client would not sit through; nil = it would
}

// errCancelled ends a call whose client cancelled it; it wraps the reason.
type errCancelled struct{ reason string }

func (e *errCancelled) Error() string { return e.reason }

const cancelWithin = 5 * time.Second

// requestName is what a session's request is called among replicas. Nobody
// outside knows a session's channel, so nobody else can name its requests.
func requestName(s *session, id []byte) string { return s.channel + " " + string(id) }

// takeOff makes everything ready for the wait: who can end it, and what the
// client hears meanwhile.
func (c *run) takeOff(ctx context.Context) context.Context {
	x, req := c.x, &c.req
	f := &flight{turn: req.TurnID, channel: req.ChannelID()}
	ctx = x.register(ctx, f, c.m.id)
	if x.resumable() && c.m.method == "tools/call" && x.out.first == nil {
		tool, _ := httpd.StringValue(httpd.Field(c.m.params, "name"))
		l := lost{req.TurnID, f.channel, x.agent.ID, tool, c.m.id}
		x.out.first = func() string { return x.sealEvent(l) }
	}
	x.out.wait()
	if c.patience > 0 {
		f.enough = time.AfterFunc(c.patience, func() { f.cancel(errTask) })
	}
	c.flight = f
	return ctx
}

// register has a call known by its request, so that it can be cancelled, and
// returns the context to run it in. Inside a session a lost connection means
// nothing, says the protocol, and some clients close theirs just before they
// cancel: such a call goes on until its reply, a cancel, or our own end.
func (x *exchange) register(ctx context.Context, f *flight, id []byte) context.Context {
	if x.session == nil {
		ctx, f.cancel = context.WithCancelCause(ctx)
		return ctx
	}
	if !x.old { // where the stream is the session
		ctx = context.WithoutCancel(ctx)
	}
	ctx, f.cancel = context.WithCancelCause(ctx)
	f.stay = context.AfterFunc(x.g.opt.Context, func() { f.cancel(nil) })
	f.request = requestName(x.session, id)
	x.g.flights.mu.Lock()
	defer x.g.flights.mu.Unlock()
	x.g.flights.running[f.request] = f
	return ctx
}

func (c *run) land() {
	f, flights := c.flight, &c.x.g.flights
	if f.enough != nil {
		f.enough.Stop()
	}
	f.cancel(nil)
	if f.request == "" {
		return
	}
	f.stay()
	flights.mu.Lock()
	defer flights.mu.Unlock()
	if flights.running[f.request] == f {
		delete(flights.running, f.request)
	}
}

// cancelled handles notifications/cancelled.
func (x *exchange) cancelled(params []byte) {
	id := httpd.Field(params, "requestId")
	if x.session == nil || id == nil {
		return
	}
	reason, _ := httpd.StringValue(httpd.Field(params, "reason"))
	reason = orElse(shorten(reason, 500), "cancelled by the client")
	name := requestName(x.session, id)
	if !x.g.cancel(name, reason) {
		x.g.tell(News{Kind: Cancelled, ID: name, Reason: reason})
	}
}

// cancel stops a request if this replica runs it. It does not block.
func (g *Gateway) cancel(request, reason string) (ours bool) {
	g.flights.mu.Lock()
	f := g.flights.running[request]
	g.flights.mu.Unlock()
	if f == nil {
		return false
	}
	f.cancel(&errCancelled{reason})
	return true
}

// stopped is for a call that ended before its reply: cancelled, or with its
// client gone, or with us. Since 2026-07-28 to leave is to cancel. Before, a
// client with an idempotency key or a session can come back for the result;
// without either nobody ever can, and the agent need not go on.
func (c *run) stopped(ctx context.Context) error {
	x, f := c.x, c.flight
	var by *errCancelled
	switch {
	case errors.As(context.Cause(ctx), &by):
		x.stopAgent(ctx, f, by.reason)
		return beeos.Errorf(beeos.Conflict, "the client cancelled this request")
	case x.g.opt.Context.Err() != nil, x.out.dropped(): // it did not leave, we sent it away: the agent may finish for whoever asks again
	case x.version.stateless(), x.old, x.session == nil && c.req.IdempotencyKey == "":
		x.stopAgent(ctx, f, "the client went away")
	}
	return beeos.Errorf(beeos.AgentServiceUnavailable, "the server is stopping: try again") // if anybody still reads it
}

func (x *exchange) stopAgent(ctx context.Context, f *flight, reason string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cancelWithin)
	defer cancel()
	if err := x.g.opt.Calls.Cancel(ctx, f.channel, f.turn, reason); err != nil {
		x.g.opt.Log.WarnContext(ctx, "cancel a call", "turn", f.turn, "err", err)
	}
}
