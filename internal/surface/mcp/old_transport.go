package mcp

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/bus"
	"github.com/beeos/beeos/internal/surface/mcp/call"
	"github.com/beeos/beeos/internal/surface/mcp/sessions"
	"github.com/beeos/beeos/internal/surface/mcp/stream"
	"github.com/beeos/beeos/internal/surface/mcp/wire"
	"github.com/beeos/beeos/internal/wire/httpd"
)

// The transport of 2024-11-05, for clients that have nothing newer: a stream
// (GET /{agentId}/sse) whose first event names the address to post messages
// to, and on which the answers come. The replica that holds the stream does the
// work; whichever gets a message passes it on. When the stream ends, so does
// everything that was asked on it.

// oldMemory is how long the address of a stream that has ended is refused.
const oldMemory = time.Hour

// openOldTransport serves the stream.
func (x *request) openOldTransport() {
	ctx, now := x.HTTP.Context(), x.surface.opt.Now
	s := sessions.NewSession(wire.V20241105, 0, now())
	x.Version, x.Session, x.OldTransport = s.Version, s, true
	x.Out.AcceptsStream = true
	if err := x.open.Follow(); err != nil {
		x.refuse(err)
		return
	}
	st, leave := x.surface.hub.Open(stream.TopicAgent+x.Agent.ID, stream.TopicSession+s.Channel)
	defer leave()
	address := "/" + x.Agent.ID + "/messages?session=" + x.Runner.Sealer.Seal(sessions.SealedOldTransport, x.Agent.ID, x.Caller.Principal(), []byte(s.Channel))
	if err := x.Out.SendNamedEvent("endpoint", []byte(address)); err != nil {
		return
	}
	x.serveOld(ctx, st)
	// Its address leads nowhere now; who still has it finds that out soon.
	if err := x.surface.sessions.EndSession(context.WithoutCancel(ctx), x.Caller.Principal(), s, now().Add(oldMemory)); err != nil {
		x.surface.opt.Log.WarnContext(ctx, "end a session", "err", err)
	}
}

// serveOld works on what comes for the stream until the client leaves.
func (x *request) serveOld(ctx context.Context, st *stream.Stream) {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(stream.PendingMax)
	f := x.newFollower(st, stream.AllLists())
	f.Resubscribe = func(ctx context.Context) (map[string]bool, error) { return x.watchedURIs(ctx, x.Session.Channel) }
	f.Incoming = func(body []byte) {
		m, err := wire.ParseMessage(body)
		if err == nil && m.Method == "initialize" { // what it settles holds for all that follow
			x.answerOld(ctx, &m)
			return
		}
		each := *x
		group.Go(func() error {
			if err != nil {
				each.Out.SendError(each.HTTP, m.ID, each.Version, err)
				return nil
			}
			each.answerOld(ctx, &m)
			return nil
		})
	}
	group.Go(func() error {
		if err := f.Run(ctx); err != nil {
			return err
		}
		return call.ErrClientReturns // ends what is under way
	})
	_ = group.Wait() // the client is gone, whatever the reason
}

// answerOld answers one message on the stream.
func (x *request) answerOld(ctx context.Context, m *wire.Message) {
	x.Meta = wire.ReadMeta(m.Params)
	result, err := x.handle(ctx, m)
	switch {
	case ctx.Err() != nil, result == nil && err == nil:
	case err != nil && m.ID != nil:
		x.Out.SendError(x.HTTP, m.ID, x.Version, err)
	case err == nil:
		x.SendResult(m, result)
	}
}

// postOldTransport passes a message on to the replica that holds the stream.
func (x *request) postOldTransport() {
	channel, ok := x.Runner.Sealer.Open(sessions.SealedOldTransport, x.Agent.ID, x.Caller.Principal(), x.HTTP.URL.Query().Get("session"))
	if !ok || x.surface.sessions.HasEnded(string(channel)) {
		x.refuse(wire.UnknownSession())
		return
	}
	body, err := httpd.ReadJSON(x.w, x.HTTP, maxBody)
	if err == nil && wire.Kind(body) != '{' {
		err = beeos.Errorf(beeos.InvalidBody, "a JSON-RPC message is a JSON object")
	}
	if err != nil {
		x.refuse(err)
		return
	}
	x.surface.opt.Bus.Control(bus.Control{Kind: bus.SessionMessage, ID: string(channel), Data: body})
	x.Out.SendAccepted()
}
