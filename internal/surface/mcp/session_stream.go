package mcp

import (
	"context"
	"net/http"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/surface/mcp/catalog"
	"github.com/beeos/beeos/internal/surface/mcp/stream"
	"github.com/beeos/beeos/internal/surface/mcp/wire"
)

// serveSessionStream opens the stream of a session, on which it hears of
// changes outside of calls; with Last-Event-ID, the rest of a call's stream.
// Only the revisions with sessions have it.
func (g *Gateway) serveSessionStream(w http.ResponseWriter, r *http.Request, agentID string) {
	x := g.openStream(w, r, agentID)
	if x == nil {
		return
	}
	defer x.Out.Close()
	if l, ok := x.OpenStreamID(r.Header.Get(wire.HeaderLastEvent)); ok {
		x.ResumeStream(r.Context(), l)
		return
	}
	f, leave, err := x.sessionStream(r.Context())
	if err != nil {
		g.refuse(w, r, agentID, err)
		return
	}
	defer leave()
	x.Out.StartStream()
	f.Run(r.Context()) //nolint:errcheck // the stream ends, and its client opens another
}

// openStream lets a request for the stream of a session in, or refuses it.
func (g *Gateway) openStream(w http.ResponseWriter, r *http.Request, agentID string) *request {
	caller, e, err := g.access(r, agentID)
	if err != nil {
		g.refuse(w, r, agentID, err)
		return nil
	}
	id := r.Header.Get(wire.HeaderSession)
	x := g.newRequest(w, r, agentID, caller, e)
	if id == "" || !x.Out.AcceptsStream {
		g.refuseMethod(w, r, agentID)
		return nil
	}
	if x.Session, err = g.sessions.OpenSession(agentID, caller.Principal(), id); err != nil {
		g.refuse(w, r, agentID, err)
		return nil
	}
	x.Version, x.Can = x.Session.Version, x.Session.Can
	return x
}

// newFollower sends changes to the client on a stream.
func (x *request) newFollower(s *stream.Stream, wants stream.Filter) *stream.Follower {
	return &stream.Follower{
		Client: &x.Client, Stream: s, Wants: wants, Lists: x.Lists,
		CheckCaller: func() (beeos.Caller, error) { return x.g.opt.Auth.Authenticate(x.HTTP, x.g.audience(x.EndpointAgent)) },
		ReadLists: func() (*catalog.Lists, error) {
			_, e, err := x.g.access(x.HTTP, x.EndpointAgent)
			if err != nil {
				return nil, err
			}
			return e.Lists, nil
		},
	}
}

// sessionStream makes the stream of a session ready to run.
func (x *request) sessionStream(ctx context.Context) (f *stream.Follower, leave func(), err error) {
	id := x.Session.Channel
	s, leave, err := x.g.hub.Open(x.Caller.Principal(), stream.TopicAgent+x.EndpointAgent, stream.TopicSession+id)
	if err != nil {
		return nil, nil, err
	}
	s.SetMembers(x.Lists) // before the client hears that the stream is open
	f = x.newFollower(s, stream.Filter{Tools: true, Prompts: true, Resources: true})
	f.Resubscribe = func(ctx context.Context) (map[string]bool, error) { return x.watched(ctx, id) }
	if f.Wants.URIs, err = f.Resubscribe(ctx); err != nil {
		leave()
	}
	return f, leave, err
}

func (x *request) watched(ctx context.Context, session string) (map[string]bool, error) {
	list, err := x.g.opt.Sessions.ListSubscriptions(ctx, session)
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
	g.refuse(w, r, agentID, &wire.Fault{
		Err:    beeos.Errorf(beeos.InvalidBody, "this endpoint takes POST; GET opens the stream of a session (Mcp-Session-Id, Accept: text/event-stream)"),
		Number: http.StatusMethodNotAllowed,
		Status: http.StatusMethodNotAllowed,
	})
}
