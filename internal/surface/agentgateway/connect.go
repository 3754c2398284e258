package agentgateway

import (
	"net/http"
	"strings"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/surface/agentgateway/link"
	"github.com/beeos/beeos/internal/wire/httpd"
)

// connect opens a connection: a WebSocket, or a stream of server-sent events
// for a client that asks for one.
func (s *Surface) connect(w http.ResponseWriter, r *http.Request, inst beeos.Instance, _ []byte) error {
	if strings.Contains(r.Header.Get("Accept"), "text/event-stream") {
		return s.serveEvents(w, r, inst)
	}
	if !strings.EqualFold(r.Header.Get("Upgrade"), "websocket") {
		return beeos.Errorf(beeos.InvalidParam, "connect by WebSocket, or send Accept: text/event-stream")
	}
	return s.serveWebSocket(w, r, inst)
}

// open connects an instance by a transport, for the agents that the request
// names.
func (s *Surface) open(r *http.Request, inst beeos.Instance, t link.Transport) (*link.Connection, error) {
	return s.hub.Open(r.Context(), inst, link.Peer{Address: httpd.ClientIP(r), Program: r.UserAgent()}, r.URL.Query()["agents"], t)
}
