package agentgateway

import (
	"net/http"
	"sync"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/surface/agentgateway/link"
)

// receiveFrames takes what an agent without a socket sends, and answers with the
// acknowledgements and refusals, one per line, once every reply in it is on
// disk. Without a connection, or with one to another node, replies are accepted
// all the same; frames about turns in progress have no effect.
func (s *Surface) receiveFrames(w http.ResponseWriter, r *http.Request, inst beeos.Instance, body []byte) error {
	c := s.hub.Connection(r.URL.Query().Get("connection"), inst.ID)
	if c == nil {
		var err error
		if c, err = s.open(r, inst, nil); err != nil {
			return err
		}
	}
	var mu sync.Mutex
	var out []byte
	to := link.Responses{Send: func(frame []byte) {
		mu.Lock()
		defer mu.Unlock()
		out = append(append(out, frame...), '\n')
	}}
	c.Receive(body, &to)
	to.Pending.Wait()
	w.Header().Set("Content-Type", "application/x-ndjson")
	w.Write(out) //nolint:errcheck // the agent is gone; it sends again what it got no answer for
	return nil
}
