//go:build unix

package load

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"sync"
)

// receiver is told of tasks by webhooks.
type receiver struct {
	URL string

	server *http.Server
	mu     sync.Mutex
	bodies []string
}

func newReceiver() (*receiver, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	r := &receiver{URL: "http://" + ln.Addr().String() + "/hook"}
	r.server = &http.Server{Handler: r}
	go r.server.Serve(ln) //nolint:errcheck // ends with the campaign
	return r, nil
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(io.LimitReader(req.Body, 1<<20))
	if err != nil || !json.Valid(body) {
		http.Error(w, "this is no event", http.StatusBadRequest)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.bodies = append(r.bodies, string(body))
}

// all is what was received so far.
func (r *receiver) all() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.bodies[:len(r.bodies):len(r.bodies)]
}
