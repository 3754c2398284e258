package agentgateway

import (
	"bytes"
	"context"
	"net/http"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/wire/httpd"
)

// signal is how a connection wakes a transport that waits in a request.
type signal chan struct{}

func newSignal() signal { return make(signal, 1) }

func (s signal) wake() {
	select {
	case s <- struct{}{}:
	default:
	}
}

// serveEvents is the transport for places without WebSocket: frames come as
// server-sent events, one each, and go up by POST.
func (g *Gateway) serveEvents(w http.ResponseWriter, r *http.Request, inst beeos.Instance) error {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	news := newSignal()
	c, err := g.open(r, inst, func(c *connection) { c.wake, c.shut = news.wake, func(string) { cancel() } })
	if err != nil {
		return err
	}
	defer c.close()
	stream := httpd.NewSSE(w)
	stream.KeepAlive(g.Heartbeat)
	defer stream.Close()
	for {
		out := c.take()
		for line := range bytes.Lines(out) {
			if stream.Event("", "", bytes.TrimSuffix(line, []byte("\n"))) != nil {
				return nil // the agent is gone
			}
		}
		putBuffer(out)
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
