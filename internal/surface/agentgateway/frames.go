package agentgateway

import (
	"net/http"
	"sync"

	"github.com/beeos/beeos/internal/wire/httpd"
)

// frames takes what an agent without a socket sends, and answers with the
// acknowledgements and complaints, one per line, once every reply in it is on
// disk. Without a connection, or with one of another node's, replies are
// accepted all the same; frames about turns in progress have no effect.
func (g *Gateway) frames(w http.ResponseWriter, r *http.Request) error {
	body, err := httpd.ReadBody(w, r, maxInbound)
	if err != nil {
		return err
	}
	inst, err := g.Auth.Instance(r, body)
	if err != nil {
		return err
	}
	c := g.registry.connection(r.URL.Query().Get("connection"), inst.ID)
	if c == nil {
		if c, err = g.visitor(r, inst); err != nil {
			return err
		}
	}
	var mu sync.Mutex
	var out []byte
	to := answers{send: func(frame []byte) {
		mu.Lock()
		defer mu.Unlock()
		out = append(append(out, frame...), '\n')
	}}
	c.receive(body, &to)
	to.open.Wait()
	w.Header().Set("Content-Type", "application/x-ndjson")
	w.Write(out) //nolint:errcheck // the agent is gone; it sends again what it got no answer for
	return nil
}
