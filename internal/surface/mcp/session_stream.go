package mcp

import (
	"context"
	"net/http"

	"github.com/beeos/beeos"
)

// serveSessionStream opens the stream of a session, on which it hears of changes outside of
// calls; with Last-Event-ID, the rest of a call's stream. Only the revisions
// with sessions have it.
func (g *Gateway) serveSessionStream(w http.ResponseWriter, r *http.Request, agentID string) {
	x := g.openStream(w, r, agentID)
	if x == nil {
		return
	}
	defer x.out.close()
	if l, ok := x.openStreamID(r.Header.Get(headerLastEvent)); ok {
		x.resumeStream(r.Context(), l)
		return
	}
	f, leave, err := x.sessionStream(r.Context())
	if err != nil {
		g.refuse(w, r, agentID, err)
		return
	}
	defer leave()
	x.out.startStream()
	f.run(r.Context()) //nolint:errcheck // the stream ends, and its client opens another
}

// openStream lets a request for the stream of a session in, or refuses it.
func (g *Gateway) openStream(w http.ResponseWriter, r *http.Request, agentID string) *request {
	caller, e, err := g.access(r, agentID)
	if err != nil {
		g.refuse(w, r, agentID, err)
		return nil
	}
	id := r.Header.Get(headerSession)
	x := g.newRequest(w, r, agentID, caller, e)
	if id == "" || !x.out.acceptsStream {
		g.refuseMethod(w, r, agentID)
		return nil
	}
	if x.session, err = g.sessions.openSession(agentID, caller.Principal(), id); err != nil {
		g.refuse(w, r, agentID, err)
		return nil
	}
	x.version, x.can = x.session.version, x.session.can
	return x
}

// newFollower sends changes to the client on a stream.
func (x *request) newFollower(s *stream, wants filter) *follower {
	return &follower{
		x: &x.client, stream: s, wants: wants, lists: x.lists,
		checkCaller: func() (beeos.Caller, error) { return x.g.caller(x.r, x.endpointAgent) },
		readLists: func() (*lists, error) {
			_, e, err := x.g.access(x.r, x.endpointAgent)
			if err != nil {
				return nil, err
			}
			return e.lists, nil
		},
	}
}

// sessionStream makes the stream of a session ready to run.
func (x *request) sessionStream(ctx context.Context) (f *follower, leave func(), err error) {
	id := x.session.channel
	s, leave, err := x.g.hub.open(x.caller.Principal(), topicAgent+x.endpointAgent, topicSession+id)
	if err != nil {
		return nil, nil, err
	}
	s.setMembers(x.lists) // before the client hears that the stream is open
	f = x.newFollower(s, filter{tools: true, prompts: true, resources: true})
	f.resubscribe = func(ctx context.Context) (map[string]bool, error) { return x.watched(ctx, id) }
	if f.wants.uris, err = f.resubscribe(ctx); err != nil {
		leave()
	}
	return f, leave, err
}

func (x *request) watched(ctx context.Context, session string) (map[string]bool, error) {
	list, err := x.g.opt.DB.Subscriptions(ctx, session)
	uris := make(map[string]bool, len(list))
	for _, uri := range list {
		uris[uri] = true
	}
	return uris, err
}

// refuseMethod answers GET where there is no stream, and the rest.
func (g *Gateway) refuseMethod(w http.ResponseWriter, r *http.Request, agentID string) {
	if _, _, err := g.access(r, agentID); err != nil {
		g.refuse(w, r, agentID, err)
		return
	}
	w.Header().Set("Allow", allowed)
	g.refuse(w, r, agentID, &fault{
		err:    beeos.Errorf(beeos.InvalidBody, "this endpoint takes POST; GET opens the stream of a session (Mcp-Session-Id, Accept: text/event-stream)"),
		number: http.StatusMethodNotAllowed,
		status: http.StatusMethodNotAllowed,
	})
}
