package agentgateway

import (
	"bytes"
	"context"
	"net/http"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/surface/agentgateway/link"
	"github.com/beeos/beeos/internal/wire/httpd"
)

// eventStream is the transport for places without WebSocket: frames come as
// server-sent events, one each, and go up by POST.
type eventStream struct {
	news   link.Signal
	cancel context.CancelFunc
}

func (s eventStream) Wake()       { s.news.Wake() }
func (s eventStream) Shut(string) { s.cancel() }

// serveEvents writes the frames of a connection until either side ends it.
func (s *Surface) serveEvents(w http.ResponseWriter, r *http.Request, inst beeos.Instance) error {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	news := link.NewSignal()
	c, err := s.open(r, inst, eventStream{news, cancel})
	if err != nil {
		return err
	}
	defer c.Close()
	stream := httpd.NewSSE(w)
	stream.KeepAlive(s.Heartbeat)
	defer stream.Close()
	for {
		out := c.Take()
		for line := range bytes.Lines(out) {
			if stream.Event("", "", bytes.TrimSuffix(line, []byte("\n"))) != nil {
				return nil // the agent is gone
			}
		}
		link.PutBuffer(out)
		if out != nil {
			continue
		}
		select {
		case <-news:
		case <-ctx.Done():
			return nil
		}
	}
}
