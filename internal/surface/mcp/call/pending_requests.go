package call

import (
	"context"
	"time"

	"github.com/beeos/beeos/internal/surface/mcp/sessions"
	"github.com/beeos/beeos/internal/wire/strictjson"
)

// pendingRequest is one call under way.
type pendingRequest struct {
	name           string // how replicas name it; empty outside of sessions
	channel        string // empty until known, for a call that has one of its own
	turn           string
	cancel         context.CancelCauseFunc
	ignoreShutdown func() bool // forgets about our own end; nil outside of sessions
	leaving        *leaving    // nil = the call goes on without its client
	handOverTimer  *time.Timer // ends a wait that the client would not sit through; nil = it would
}

// requestName is what a session's request is called among replicas. Nobody
// outside knows a session's channel, so nobody else can name its requests.
func requestName(s *sessions.Session, id []byte) string { return s.Channel + " " + string(id) }

// startWaiting makes everything ready for the wait: who can end it, and what
// the client hears meanwhile.
func (c *activeCall) startWaiting(ctx context.Context) context.Context {
	x, req := c.x, &c.req
	f := &pendingRequest{turn: req.TurnID, channel: req.ChannelID()}
	if c.stopsWhenLeft {
		f.leaving = &leaving{} // before others see the request
	}
	ctx = x.trackRequest(ctx, f, c.m.ID)
	if x.resumable() && c.m.Method == "tools/call" && x.Out.FirstEventID == nil {
		tool, _ := strictjson.StringField(c.m.Params, "name")
		l := LostStream{req.TurnID, f.channel, x.Agent.ID, tool, c.stopsWhenLeft, c.m.ID}
		x.Out.FirstEventID = func() string { return x.sealStreamID(l) }
	}
	x.Out.KeepAlive()
	if c.stopsWhenLeft {
		x.watchClient(f)
	}
	if c.handOverAfter > 0 {
		f.handOverTimer = time.AfterFunc(c.handOverAfter, func() {
			if !f.leaving.isAway() { // nobody would read where to fetch the result
				f.cancel(errHandOver)
			}
		})
	}
	c.waiting = f
	return ctx
}

// trackRequest has a call known by its request, so that it can be cancelled,
// and returns the context to run it in. Inside a session a lost connection
// means nothing, says the protocol, and some clients close theirs just before
// they cancel: such a call goes on until its reply, a cancel, our own end, or
// for as long as leave.go says.
func (x *Client) trackRequest(ctx context.Context, f *pendingRequest, id []byte) context.Context {
	if x.Session == nil {
		ctx, f.cancel = context.WithCancelCause(ctx)
		return ctx
	}
	if !x.OldTransport { // where the stream is the session
		ctx = context.WithoutCancel(ctx)
	}
	ctx, f.cancel = context.WithCancelCause(ctx)
	f.ignoreShutdown = context.AfterFunc(x.Runner.Context, func() { f.cancel(nil) })
	f.name = requestName(x.Session, id)
	x.Runner.pending.Store(f.name, f)
	return ctx
}

func (c *activeCall) stopWaiting() {
	f := c.waiting
	f.leaving.stop()
	if f.handOverTimer != nil {
		f.handOverTimer.Stop()
	}
	f.cancel(nil)
	if f.name != "" {
		f.ignoreShutdown()
		c.x.Runner.pending.CompareAndDelete(f.name, f)
	}
}
