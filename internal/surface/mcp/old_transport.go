package mcp

import (
	"context"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/bus"
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
	s := newSession(v20241105, 0, g.opt.Now())
	x := g.newRequest(w, r, agentID, caller, e)
	x.version, x.session, x.oldTransport = s.version, s, true
	x.out.acceptsStream = true
	defer x.out.close()
	st, leave, err := g.hub.open(caller.Principal(), topicAgent+agentID, topicSession+s.channel)
	if err != nil {
		g.refuse(w, r, agentID, err)
		return
	}
	defer leave()
	address := "/" + e.agent.ID + "/messages?session=" + g.runner.Sealer.seal(sealedOldTransport, e.agent.ID, caller.Principal(), []byte(s.channel))
	if err := x.out.sendNamedEvent("endpoint", []byte(address)); err != nil {
		return
	}
	x.serveOld(r.Context(), st)
	// Its address leads nowhere now; who still has it finds that out soon.
	if err := g.sessions.endSession(context.WithoutCancel(r.Context()), s, g.opt.Now().Add(oldMemory)); err != nil {
		g.opt.Log.WarnContext(r.Context(), "end a session", "err", err)
	}
}

// serveOld works on what comes for the stream until the client leaves.
func (x *request) serveOld(ctx context.Context, st *stream) {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(pendingMax)
	f := x.newFollower(st, filter{tools: true, prompts: true, resources: true})
	f.resubscribe = func(ctx context.Context) (map[string]bool, error) { return x.watched(ctx, x.session.channel) }
	f.incoming = func(body []byte) {
		m, err := parseMessage(body)
		if err == nil && m.method == "initialize" { // what it settles holds for all that follow
			x.answerOld(ctx, &m)
			return
		}
		each := *x
		group.Go(func() error {
			if err != nil {
				each.out.sendError(each.r, m.id, each.version, err)
				return nil
			}
			each.answerOld(ctx, &m)
			return nil
		})
	}
	group.Go(func() error {
		if err := f.run(ctx); err != nil {
			return err
		}
		return errClientReturns // ends what is under way
	})
	_ = group.Wait() // the client is gone, whatever the reason
}

// answerOld answers one message on the stream.
func (x *request) answerOld(ctx context.Context, m *message) {
	x.meta = readMeta(m.params)
	result, err := x.handle(ctx, m)
	switch {
	case ctx.Err() != nil, result == nil && err == nil:
	case err != nil && m.id != nil:
		x.out.sendError(x.r, m.id, x.version, err)
	case err == nil:
		x.sendResult(m, result)
	}
}

// postOldTransport passes a message on to the replica that holds the stream.
func (g *Gateway) postOldTransport(w http.ResponseWriter, r *http.Request, agentID string) {
	caller, e, err := g.access(r, agentID)
	if err != nil {
		g.refuse(w, r, agentID, err)
		return
	}
	channel, ok := g.runner.Sealer.open(sealedOldTransport, e.agent.ID, caller.Principal(), r.URL.Query().Get("session"))
	if !ok || g.sessions.hasEnded(string(channel)) {
		g.refuse(w, r, agentID, unknownSession())
		return
	}
	body, err := httpd.ReadJSON(w, r, maxBody)
	if err == nil && kind(body) != '{' {
		err = beeos.Errorf(beeos.InvalidBody, "a JSON-RPC message is a JSON object")
	}
	if err != nil {
		g.refuse(w, r, agentID, err)
		return
	}
	g.opt.Bus.Control(bus.Control{Kind: bus.SessionMessage, ID: string(channel), Data: body})
	w.WriteHeader(http.StatusAccepted)
}
