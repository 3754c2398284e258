package mcp

import (
	"context"
	"net/http"
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
func (g *Gateway) openOldTransport(w http.ResponseWriter, r *http.Request, agentID string) {
	caller, e, err := g.access(r, agentID)
	if err != nil {
		g.refuse(w, r, agentID, err)
		return
	}
	s := sessions.NewSession(wire.V20241105, 0, g.opt.Now())
	x := g.newRequest(w, r, agentID, caller, e)
	x.Version, x.Session, x.OldTransport = s.Version, s, true
	x.Out.AcceptsStream = true
	defer x.Out.Close()
	st, leave, err := g.hub.Open(caller.Principal(), stream.TopicAgent+agentID, stream.TopicSession+s.Channel)
	if err != nil {
		g.refuse(w, r, agentID, err)
		return
	}
	defer leave()
	address := "/" + e.Agent.ID + "/messages?session=" + g.runner.Sealer.Seal(sessions.SealedOldTransport, e.Agent.ID, caller.Principal(), []byte(s.Channel))
	if err := x.Out.SendNamedEvent("endpoint", []byte(address)); err != nil {
		return
	}
	x.serveOld(r.Context(), st)
	// Its address leads nowhere now; who still has it finds that out soon.
	if err := g.sessions.EndSession(context.WithoutCancel(r.Context()), s, g.opt.Now().Add(oldMemory)); err != nil {
		g.opt.Log.WarnContext(r.Context(), "end a session", "err", err)
	}
}

// serveOld works on what comes for the stream until the client leaves.
func (x *request) serveOld(ctx context.Context, st *stream.Stream) {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(stream.PendingMax)
	f := x.newFollower(st, stream.Filter{Tools: true, Prompts: true, Resources: true})
	f.Resubscribe = func(ctx context.Context) (map[string]bool, error) { return x.watched(ctx, x.Session.Channel) }
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
func (g *Gateway) postOldTransport(w http.ResponseWriter, r *http.Request, agentID string) {
	caller, e, err := g.access(r, agentID)
	if err != nil {
		g.refuse(w, r, agentID, err)
		return
	}
	channel, ok := g.runner.Sealer.Open(sessions.SealedOldTransport, e.Agent.ID, caller.Principal(), r.URL.Query().Get("session"))
	if !ok || g.sessions.HasEnded(string(channel)) {
		g.refuse(w, r, agentID, wire.UnknownSession())
		return
	}
	body, err := httpd.ReadJSON(w, r, maxBody)
	if err == nil && wire.Kind(body) != '{' {
		err = beeos.Errorf(beeos.InvalidBody, "a JSON-RPC message is a JSON object")
	}
	if err != nil {
		g.refuse(w, r, agentID, err)
		return
	}
	g.opt.Bus.Control(bus.Control{Kind: bus.SessionMessage, ID: string(channel), Data: body})
	w.WriteHeader(http.StatusAccepted)
}
