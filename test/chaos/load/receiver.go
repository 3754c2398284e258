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
	ended  map[string]bool // tasks of whose end it was told
}

func newReceiver() (*receiver, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	r := &receiver{URL: "http://" + ln.Addr().String() + "/hook", ended: map[string]bool{}}
	r.server = &http.Server{Handler: r}
	go r.server.Serve(ln) //nolint:errcheck // ends with the campaign
	return r, nil
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	var event struct {
		TaskID string `json:"task_id"`
		Final  bool
	}
	if json.NewDecoder(io.LimitReader(req.Body, 1<<20)).Decode(&event) != nil || event.TaskID == "" {
		http.Error(w, "this is no event of a task", http.StatusBadRequest)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if event.Final {
		r.ended[event.TaskID] = true
	}
}

// hasHeardEnd reports whether it was told that a task has ended.
func (r *receiver) hasHeardEnd(taskID string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ended[taskID]
}
