package wire

import (
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/beeos/beeos/internal/wire/httpd"
)

// KeepAliveEvery is how long a client that takes streams may hear nothing.
// Proxies on the way close connections that are silent for a minute.
const KeepAliveEvery = 15 * time.Second

const (
	largeAnswer = 64 << 10 // an answer that may not fit into the buffers on the way
	writeWithin = 30 * time.Second
	retryAfter  = 500 * time.Millisecond // for a client that comes back for the rest of a stream
)

// Responder is where the answers of one POST go: application/json until the
// first event, a stream of server-sent events from there on. A call that
// stays silent becomes a stream too, whose comments keep its connection open.
type Responder struct {
	w             http.ResponseWriter
	AcceptsJSON   bool // the client takes application/json
	AcceptsStream bool // the client takes text/event-stream

	DropAfter time.Duration // for a client to take what is written; 0 = the stream's own

	// Permit says why nothing more may be sent on the stream; nil = nobody asks.
	Permit func() error

	// FirstEventID makes the id of the event that a stream begins with, to come
	// back by; nil = none.
	FirstEventID func() string

	mu     sync.Mutex
	sse    *httpd.SSE
	timer  *time.Timer
	closed bool
}

// NewResponder reads what the client accepts. A client that says nothing, or
// that anything will do, gets JSON: nobody reads a stream by accident.
func NewResponder(w http.ResponseWriter, r *http.Request) *Responder {
	o := &Responder{w: w}
	accept := r.Header["Accept"]
	o.AcceptsJSON = len(accept) == 0
	for _, line := range accept {
		for part := range strings.SplitSeq(line, ",") {
			media, _, _ := strings.Cut(part, ";")
			switch strings.ToLower(strings.TrimSpace(media)) {
			case "application/json", "application/*", "*/*", "":
				o.AcceptsJSON = true
			case "text/event-stream":
				o.AcceptsStream = true
			}
		}
	}
	return o
}

// Header is the header of the response.
func (o *Responder) Header() http.Header { return o.w.Header() }

// KeepAlive is called before something that may take long. Until close, a
// client that takes streams hears from us every quiet seconds.
func (o *Responder) KeepAlive() {
	if !o.AcceptsStream {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.timer == nil && o.sse == nil {
		o.timer = time.AfterFunc(KeepAliveEvery, func() {
			o.mu.Lock()
			defer o.mu.Unlock()
			if !o.closed {
				o.stream().Comment() //nolint:errcheck // a client that is gone shows in the request's context
			}
		})
	}
}

// SendEvent sends a notification or a request of ours. The caller has checked
// that the client takes streams.
func (o *Responder) SendEvent(msg []byte) error { return o.SendNamedEvent("message", msg) }

// StartStream makes the response a stream before there is an event.
func (o *Responder) StartStream() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.stream()
}

// stream makes the response a stream, if it is none yet; the lock is held.
func (o *Responder) stream() *httpd.SSE {
	if o.sse == nil {
		if o.timer != nil {
			o.timer.Stop()
			o.timer = nil
		}
		o.sse = httpd.NewSSE(o.w)
		if o.DropAfter > 0 {
			o.sse.DropAfter(o.DropAfter)
		}
		o.sse.KeepAlive(KeepAliveEvery)
		if o.FirstEventID != nil {
			o.sse.Prime(o.FirstEventID(), retryAfter) //nolint:errcheck // a client that is gone shows in the request's context
		}
	}
	return o.sse
}

// SendNamedEvent sends an event of another kind than a message.
func (o *Responder) SendNamedEvent(name string, data []byte) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.Permit != nil {
		if err := o.Permit(); err != nil {
			return err
		}
	}
	return o.stream().Event(name, "", data)
}

// IsStream reports whether the response has become a stream.
func (o *Responder) IsStream() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.sse != nil
}

// SendAnswer writes the last message: head, body and tail are one JSON text.
// The status counts only while the response is not a stream.
func (o *Responder) SendAnswer(status int, head, body, tail []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.sse != nil && o.Permit != nil && o.Permit() != nil {
		return // long after its credential was looked at
	}
	if o.sse != nil || (!o.AcceptsJSON && o.AcceptsStream && status == http.StatusOK) {
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
func (o *Responder) limitWrite() func() {
	ctl := http.NewResponseController(o.w)
	within := o.DropAfter
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

// Dropped reports whether we gave up on a client that did not read.
func (o *Responder) Dropped() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.sse != nil && o.sse.Dropped()
}

var contentJSON = []string{"application/json"}

// SendAccepted answers a message that has no response.
func (o *Responder) SendAccepted() { o.w.WriteHeader(http.StatusAccepted) }

// Close must come before the handler returns: nothing is written after it.
func (o *Responder) Close() {
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

// SendError sends an error as the answer to id. A fault of ours goes to the log
// with its cause, and never further.
func (o *Responder) SendError(r *http.Request, id []byte, v Version, err error) {
	f := FaultOf(err)
	httpd.CountRefusal(r, err)
	status := f.httpStatus(v)
	if f.IsInternal() {
		httpd.Report(r, err)
	}
	if status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable {
		httpd.SetRetryAfter(o.w, f.Err)
	}
	if !o.IsStream() && f.Err != nil {
		httpd.SetHelp(o.w, r, f.Err.Code)
	}
	o.SendAnswer(status, nil, f.AppendResponse(nil, id, v), nil)
}
