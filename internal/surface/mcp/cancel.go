package mcp

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/bus"
	"github.com/beeos/beeos/internal/engine/invoke"
	"github.com/beeos/beeos/internal/wire/httpd"
)

// A client cancels by the id of its request, in whatever replica gets the
// notification. Only the replica that runs the call knows which turn that is,
// so a replica that does not is asked by news. There the
// call's own goroutine stops waiting and tells the agent.

// pendingRequests are the calls that this replica runs for sessions.
type pendingRequests struct {
	mu     sync.Mutex
	byName map[string]*pendingRequest
}

// pendingRequest is one call under way.
type pendingRequest struct {
	name           string // how replicas name it; empty outside of sessions
	channel        string // empty until known, for a call that has one of its own
	turn           string
	cancel         context.CancelCauseFunc
	ignoreShutdown func() bool // forgets about our own end; nil outside of sessions
	handOverTimer  *time.Timer // ends a wait that the client would not sit through; nil = it would
}

// cancelledError ends a call whose client cancelled it; it wraps the reason.
type cancelledError struct{ reason string }

func (e *cancelledError) Error() string { return e.reason }

const cancelWithin = 5 * time.Second

// requestName is what a session's request is called among replicas. Nobody
// outside knows a session's channel, so nobody else can name its requests.
func requestName(s *session, id []byte) string { return s.channel + " " + string(id) }

// startWaiting makes everything ready for the wait: who can end it, and what the
// client hears meanwhile.
func (c *activeCall) startWaiting(ctx context.Context) context.Context {
	x, req := c.x, &c.req
	f := &pendingRequest{turn: req.TurnID, channel: req.Channel}
	if req.Channel == "" && req.ContextID != "" {
		f.channel = invoke.ContextChannel(x.caller.Principal(), x.agent.ID, req.ContextID)
	}
	ctx = x.trackRequest(ctx, f, c.m.id)
	if x.resumable() && c.m.method == "tools/call" && x.out.firstEventID == nil {
		tool, _ := httpd.StringValue(httpd.Field(c.m.params, "name"))
		l := lostStream{req.TurnID, f.channel, x.agent.ID, tool, c.m.id}
		x.out.firstEventID = func() string { return x.sealStreamID(l) }
	}
	x.out.keepAlive()
	if c.handOverAfter > 0 {
		f.handOverTimer = time.AfterFunc(c.handOverAfter, func() { f.cancel(errHandOver) })
	}
	c.waiting = f
	return ctx
}

// trackRequest has a call known by its request, so that it can be cancelled, and
// returns the context to run it in. Inside a session a lost connection means
// nothing, says the protocol, and some clients close theirs just before they
// cancel: such a call goes on until its reply, a cancel, or our own end.
func (x *exchange) trackRequest(ctx context.Context, f *pendingRequest, id []byte) context.Context {
	if x.session == nil {
		ctx, f.cancel = context.WithCancelCause(ctx)
		return ctx
	}
	if !x.oldTransport { // where the stream is the session
		ctx = context.WithoutCancel(ctx)
	}
	ctx, f.cancel = context.WithCancelCause(ctx)
	f.ignoreShutdown = context.AfterFunc(x.g.opt.Context, func() { f.cancel(nil) })
	f.name = requestName(x.session, id)
	x.g.pending.mu.Lock()
	defer x.g.pending.mu.Unlock()
	x.g.pending.byName[f.name] = f
	return ctx
}

func (c *activeCall) stopWaiting() {
	f, flights := c.waiting, &c.x.g.pending
	if f.handOverTimer != nil {
		f.handOverTimer.Stop()
	}
	f.cancel(nil)
	if f.name == "" {
		return
	}
	f.ignoreShutdown()
	flights.mu.Lock()
	defer flights.mu.Unlock()
	if flights.byName[f.name] == f {
		delete(flights.byName, f.name)
	}
}

// handleCancelled handles notifications/cancelled.
func (x *exchange) handleCancelled(params []byte) {
	id := httpd.Field(params, "requestId")
	if x.session == nil || id == nil {
		return
	}
	reason, _ := httpd.StringValue(httpd.Field(params, "reason"))
	reason = orElse(shorten(reason, 500), "cancelled by the client")
	name := requestName(x.session, id)
	if !x.g.cancelRequest(name, reason) {
		x.g.opt.Bus.Control(bus.Control{Kind: bus.CancelRequest, ID: name, Reason: reason})
	}
}

// cancelRequest stops a request if this replica runs it. It does not block.
func (g *Gateway) cancelRequest(request, reason string) (ours bool) {
	g.pending.mu.Lock()
	f := g.pending.byName[request]
	g.pending.mu.Unlock()
	if f == nil {
		return false
	}
	f.cancel(&cancelledError{reason})
	return true
}

// stopCall is for a call that ended before its reply: cancelled, or with its
// client gone, or with us. Since 2026-07-28 to leave is to cancel. Before, a
// client with an idempotency key or a session can come back for the result;
// without either nobody ever can, and the agent need not go on.
func (c *activeCall) stopCall(ctx context.Context) error {
	x, f := c.x, c.waiting
	var by *cancelledError
	switch {
	case errors.As(context.Cause(ctx), &by):
		x.stopAgent(ctx, f, by.reason)
		return beeos.Errorf(beeos.Conflict, "the client cancelled this request")
	case x.g.opt.Context.Err() != nil, x.out.dropped(): // it did not leave, we sent it away: the agent may finish for whoever asks again
	case x.version.stateless(), x.oldTransport, x.session == nil && c.req.IdempotencyKey == "":
		x.stopAgent(ctx, f, "the client went away")
	}
	return beeos.Errorf(beeos.AgentServiceUnavailable, "the server is stopping: try again") // if anybody still reads it
}

func (x *exchange) stopAgent(ctx context.Context, f *pendingRequest, reason string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cancelWithin)
	defer cancel()
	if err := x.g.opt.Calls.Cancel(ctx, f.channel, f.turn, reason); err != nil {
		x.g.opt.Log.WarnContext(ctx, "cancel a call", "turn", f.turn, "err", err)
	}
}
