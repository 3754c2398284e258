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
func (x *request) serveSessionStream() {
	ctx := x.HTTP.Context()
	if x.HTTP.Header.Get(wire.HeaderSession) == "" || !x.Out.AcceptsStream {
		x.refuseMethod()
		return
	}
	if err := x.openSession(); err != nil {
		x.refuse(err)
		return
	}
	if l, ok := x.OpenStreamID(x.HTTP.Header.Get(wire.HeaderLastEvent)); ok {
		x.ResumeStream(ctx, l)
		return
	}
	f, leave, err := x.sessionStream(ctx)
	if err != nil {
		x.refuse(err)
		return
	}
	defer leave()
	x.Out.StartStream()
	f.Run(ctx) //nolint:errcheck // the stream ends, and its client opens another
}

// newFollower sends changes to the client on a stream.
func (x *request) newFollower(s *stream.Stream, wants stream.Filter) *stream.Follower {
	return &stream.Follower{
		Client: &x.Client, Stream: s, Wants: wants, Lists: x.Lists,
		CheckCaller: func() (beeos.Caller, error) {
			return x.surface.opt.Auth.Authenticate(x.HTTP, x.surface.audience(x.EndpointAgent))
		},
		ReadLists: func() (*catalog.Lists, error) {
			_, e, err := x.surface.authorize(x.HTTP, x.EndpointAgent)
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
	if err := x.open.Follow(); err != nil {
		return nil, nil, err
	}
	s, leave := x.surface.hub.Open(stream.TopicAgent+x.EndpointAgent, stream.TopicSession+id)
	s.SetMembers(x.Lists) // before the client hears that the stream is open
	f = x.newFollower(s, stream.AllLists())
	f.Resubscribe = func(ctx context.Context) (map[string]bool, error) { return x.watchedURIs(ctx, id) }
	if f.Wants.URIs, err = f.Resubscribe(ctx); err != nil {
		leave()
	}
	return f, leave, err
}

func (x *request) watchedURIs(ctx context.Context, session string) (map[string]bool, error) {
	list, err := x.surface.opt.Sessions.ListSubscriptions(ctx, session)
	uris := make(map[string]bool, len(list))
	for _, uri := range list {
		uris[uri] = true
	}
	return uris, err
}

// refuseMethod answers GET where there is no stream, and the rest.
func (x *request) refuseMethod() {
	x.w.Header().Set("Allow", allowed)
	x.refuse(&wire.Fault{
		Err:    beeos.Errorf(beeos.InvalidBody, "this endpoint takes POST; GET opens the stream of a session (Mcp-Session-Id, Accept: text/event-stream)"),
		Number: http.StatusMethodNotAllowed,
		Status: http.StatusMethodNotAllowed,
	})
}
