package httpd

import (
	"context"
	"net/http"

	"golang.org/x/sync/errgroup"
)

// AnnounceStop has /readyz say on every listener that this process is about to
// stop, and lets clients look for another one: their connections end with the
// answers that they wait for. Everything is answered as before.
func (s *Server) AnnounceStop() { s.stopping.Store(true) }

// shutdown closes the listeners, waits for requests in flight, and cuts off what is
// left after Drain. Listeners that go last do so when the others have drained.
func (s *Server) shutdown(ctx context.Context, servers map[string]*http.Server) {
	s.AnnounceStop()
	for _, last := range []bool{false, true} {
		s.drain(ctx, servers, last)
	}
}

func (s *Server) drain(ctx context.Context, servers map[string]*http.Server, last bool) {
	ctx, cancel := context.WithTimeout(ctx, s.Drain)
	defer cancel()
	var group errgroup.Group
	for name, srv := range servers {
		if s.Part(name).Last != last {
			continue
		}
		group.Go(func() error {
			if err := srv.Shutdown(ctx); err != nil {
				s.log().Warn("requests were cut off at shutdown", "part", name, "after", s.Drain)
				return srv.Close()
			}
			return nil
		})
	}
	group.Wait() //nolint:errcheck // closing what is already broken has nothing to tell
}
