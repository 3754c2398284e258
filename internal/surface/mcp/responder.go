package mcp

import (
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/beeos/beeos/internal/wire/httpd"
)

// quiet is how long a client that takes streams may hear nothing. Proxies on
// the way close connections that are silent for a minute.
const quiet = 15 * time.Second

const (
	large       = 64 << 10 // an answer that may not fit into the buffers on the way
	writeWithin = 30 * time.Second
)

// responder is where the answers of one POST go: application/json until the
// first event, a stream of server-sent events from there on. A call that
// stays silent becomes a stream too, whose comments keep its connection open.
type responder struct {
	w       http.ResponseWriter
	json    bool // the client takes application/json
	streams bool // the client takes text/event-stream

	within time.Duration // for a client to take what is written; 0 = the stream's own

	// first makes the id of the event that a stream begins with, to come back
	// by; nil = none.
	first func() string

	mu     sync.Mutex
	sse    *httpd.SSE
	timer  *time.Timer
	closed bool
}

// newResponder reads what the client accepts. A client that says nothing, or
// that anything will do, gets JSON: nobody reads a stream by accident.
func newResponder(w http.ResponseWriter, r *http.Request) *responder {
	o := &responder{w: w}
	accept := r.Header["Accept"]
	o.json = len(accept) == 0
	for _, line := range accept {
		for part := range strings.SplitSeq(line, ",") {
			media, _, _ := strings.Cut(part, ";")
			switch strings.ToLower(strings.TrimSpace(media)) {
			case "application/json", "application/*", "*/*", "":
				o.json = true
			case "text/event-stream":
				o.streams = true
			}
		}
	}
	return o
}

// wait is called before something that may take long. Until close, a client
// that takes streams hears from us every quiet seconds.
func (o *responder) wait() {
	if !o.streams {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.timer == nil && o.sse == nil {
		o.timer = time.AfterFunc(quiet, func() {
			o.mu.Lock()
			defer o.mu.Unlock()
			if !o.closed {
				o.stream().Comment() //nolint:errcheck // a client that is gone shows in the request's context
			}
		})
	}
}

// event sends a notification or a request of ours. The caller has checked
// that the client takes streams.
func (o *responder) event(msg []byte) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.stream().Event("message", "", msg)
}

// begin makes the response a stream before there is an event.
func (o *responder) begin() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.stream()
}

// stream makes the response a stream, if it is none yet; the lock is held.
func (o *responder) stream() *httpd.SSE {
	if o.sse == nil {
		if o.timer != nil {
			o.timer.Stop()
			o.timer = nil
		}
		o.sse = httpd.NewSSE(o.w)
		if o.within > 0 {
			o.sse.DropAfter(o.within)
		}
		o.sse.KeepAlive(quiet)
		if o.first != nil {
			o.sse.Prime(o.first(), retryAfter) //nolint:errcheck // a client that is gone shows in the request's context
		}
	}
	return o.sse
}

// named sends an event of another kind than a message.
func (o *responder) named(name string, data []byte) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.stream().Event(name, "", data)
}

// send writes the last message: head, body and tail are one JSON text. The
// status counts only while the response is not a stream.
func (o *responder) send(status int, head, body, tail []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.sse != nil || (!o.json && o.streams && status == http.StatusOK) {
		msg := make([]byte, 0, len(head)+len(body)+len(tail))
		msg = append(append(append(msg, head...), body...), tail...)
		o.stream().Event("message", "", msg) //nolint:errcheck // the client is gone; nobody is left to tell
		return
	}
	h := o.w.Header()
	h["Content-Type"] = contentJSON
	h["Content-Length"] = []string{strconv.Itoa(len(head) + len(body) + len(tail))}
	o.w.WriteHeader(status)
	if len(body) >= large {
		defer o.limit()()
	}
	for _, b := range [...][]byte{head, body, tail} {
		o.w.Write(b) //nolint:errcheck // the client is gone; nobody is left to tell
	}
}

// limit gives the client so long to take an answer; the function that it
// returns lets the connection go on without a limit.
func (o *responder) limit() func() {
	ctl := http.NewResponseController(o.w)
	within := o.within
	if within == 0 {
		within = writeWithin
	}
	ctl.SetWriteDeadline(time.Now().Add(within)) //nolint:errcheck // not every writer has deadlines
	return func() {
		if ctl.Flush() == nil {
			ctl.SetWriteDeadline(time.Time{}) //nolint:errcheck // as above
		}
	}
}

// dropped reports whether we gave up on a client that did not read.
func (o *responder) dropped() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.sse != nil && o.sse.Dropped()
}

var contentJSON = []string{"application/json"}

// accepted answers a message that has no response.
func (o *responder) accepted() { o.w.WriteHeader(http.StatusAccepted) }

// close must come before the handler returns: nothing is written after it.
func (o *responder) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	if o.timer != nil {
		o.timer.Stop()
	}
	if o.sse != nil {
		o.sse.Close()
	}
}
