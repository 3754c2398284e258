package call

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/bus"
	"github.com/beeos/beeos/internal/wire/strictjson"
)

// A client cancels by the id of its request, in whatever replica gets the
// notification. Only the replica that runs the call knows which turn that is,
// so a replica that does not asks the others over the bus. There the call's
// own goroutine stops waiting and tells the agent.

// cancelledError ends a call whose client cancelled it; it wraps the reason.
type cancelledError struct{ reason string }

func (e *cancelledError) Error() string { return e.reason }

const cancelWithin = 5 * time.Second

// HandleCancelled handles notifications/cancelled.
func (x *Client) HandleCancelled(params []byte) {
	id := strictjson.Field(params, "requestId")
	if x.Session == nil || id == nil {
		return
	}
	reason, _ := strictjson.StringField(params, "reason")
	reason = cmp.Or(beeos.Shorten(reason, 500), "cancelled by the client")
	name := requestName(x.Session, id)
	if !x.Runner.CancelRequest(name, reason) {
		x.Runner.Bus.Control(bus.Control{Kind: bus.CancelRequest, ID: name, Reason: reason})
	}
}

// CancelRequest stops a request if this replica runs it. It does not block.
func (r *Runner) CancelRequest(request, reason string) (ours bool) {
	f, ours := r.pending.Load(request)
	if ours {
		f.(*pendingRequest).cancel(&cancelledError{reason})
	}
	return ours
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
	case x.Runner.Context.Err() != nil, x.Out.Dropped(): // it did not leave, we sent it away: the agent may finish for whoever asks again
	case x.Version.Stateless(), x.OldTransport, x.Session == nil && c.req.IdempotencyKey == "":
		x.stopAgent(ctx, f, leftReason)
	}
	return beeos.Errorf(beeos.AgentServiceUnavailable, "the server is stopping: try again") // if anybody still reads it
}

func (x *Client) stopAgent(ctx context.Context, f *pendingRequest, reason string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cancelWithin)
	defer cancel()
	if err := x.Runner.Calls.Cancel(ctx, f.channel, f.turn, reason); err != nil {
		x.Runner.Log.WarnContext(ctx, "cancel a call", "turn", f.turn, "err", err)
	}
}
