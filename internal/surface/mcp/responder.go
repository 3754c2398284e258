package mcp

import (
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/beeos/beeos/internal/wire/httpd"
)

// keepAliveEvery is how long a client that takes streams may hear nothing. Proxies on
// the way close connections that are silent for a minute.
const keepAliveEvery = 15 * time.Second

const (
	largeAnswer = 64 << 10 // an answer that may not fit into the buffers on the way
	writeWithin = 30 * time.Second
	retryAfter  = 500 * time.Millisecond // for a client that comes back for the rest of a stream
)

// responder is where the answers of one POST go: application/json until the
// first event, a stream of server-sent events from there on. A call that
// stays silent becomes a stream too, whose comments keep its connection open.
type responder struct {
	w             http.ResponseWriter
	acceptsJSON   bool // the client takes application/json
	acceptsStream bool // the client takes text/event-stream

	dropAfter time.Duration // for a client to take what is written; 0 = the stream's own

	// first makes the id of the event that a stream begins with, to come back
	// by; nil = none.
	firstEventID func() string

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
	o.acceptsJSON = len(accept) == 0
	for _, line := range accept {
		for part := range strings.SplitSeq(line, ",") {
			media, _, _ := strings.Cut(part, ";")
			switch strings.ToLower(strings.TrimSpace(media)) {
			case "application/json", "application/*", "*/*", "":
				o.acceptsJSON = true
			case "text/event-stream":
				o.acceptsStream = true
			}
		}
	}
	return o
}

// keepAlive is called before something that may take long. Until close, a client
// that takes streams hears from us every quiet seconds.
func (o *responder) keepAlive() {
	if !o.acceptsStream {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.timer == nil && o.sse == nil {
		o.timer = time.AfterFunc(keepAliveEvery, func() {
			o.mu.Lock()
			defer o.mu.Unlock()
			if !o.closed {
				o.stream().Comment() //nolint:errcheck // a client that is gone shows in the request's context
			}
		})
	}
}

// sendEvent sends a notification or a request of ours. The caller has checked
// that the client takes streams.
func (o *responder) sendEvent(msg []byte) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.stream().Event("message", "", msg)
}

// startStream makes the response a stream before there is an event.
func (o *responder) startStream() {
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
		if o.dropAfter > 0 {
			o.sse.DropAfter(o.dropAfter)
		}
		o.sse.KeepAlive(keepAliveEvery)
		if o.firstEventID != nil {
			o.sse.Prime(o.firstEventID(), retryAfter) //nolint:errcheck // a client that is gone shows in the request's context
		}
	}
	return o.sse
}

// sendNamedEvent sends an event of another kind than a message.
func (o *responder) sendNamedEvent(name string, data []byte) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.stream().Event(name, "", data)
}

// sendAnswer writes the last message: head, body and tail are one JSON text. The
// status counts only while the response is not a stream.
func (o *responder) sendAnswer(status int, head, body, tail []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.sse != nil || (!o.acceptsJSON && o.acceptsStream && status == http.StatusOK) {
		msg := make([]byte, 0, len(head)+len(body)+len(tail))
		msg = append(append(append(msg, head...), body...), tail...)
		o.stream().Event("message", "", msg) //nolint:errcheck // the client is gone; nobody is left to tell
		return
	}
	h := o.w.Header()
	h["Content-Type"] = contentJSON
	h["Content-Length"] = []string{strconv.Itoa(len(head) + len(body) + len(tail))}
	o.w.WriteHeader(status)
	if len(body) >= largeAnswer {
		defer o.limitWrite()()
	}
	for _, b := range [...][]byte{head, body, tail} {
		o.w.Write(b) //nolint:errcheck // the client is gone; nobody is left to tell
	}
}

// limitWrite gives the client so long to take an answer; the function that it
// returns lets the connection go on without a limit.
func (o *responder) limitWrite() func() {
	ctl := http.NewResponseController(o.w)
	within := o.dropAfter
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

// sendAccepted answers a message that has no response.
func (o *responder) sendAccepted() { o.w.WriteHeader(http.StatusAccepted) }

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

// sendError sends an error as the answer to id. A fault of ours goes to the log
// with its cause, and never further.
func (o *responder) sendError(r *http.Request, id []byte, v version, err error) {
	f := faultOf(err)
	status := f.httpStatus(v)
	if f.isInternal() {
		httpd.Report(r, err)
	}
	if status == http.StatusTooManyRequests {
		httpd.SetRetryAfter(o.w, f.err)
	}
	o.sendAnswer(status, nil, f.appendResponse(nil, id, v), nil)
}
