package outbound

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/beeos/beeos"
)

// ErrTooLarge is the error of an answer that has more than MaxBody, and of the
// readers of it. It is wrapped with the limit.
var ErrTooLarge = errors.New("the answer is too long")

var errIdle = errors.New("the server has sent nothing for too long; try again, or see whether it still works")

// streamFactor is how much longer than one of its events a stream may be,
// unless it is packed: then a few bytes on the wire would make so many events
// that reading them is the attack.
const streamFactor = 16

// maxEvents is how many events a stream may have: whoever reads one keeps more
// of a small event than its bytes.
const maxEvents = 250_000

// A long answer is not read as fast as it comes: whoever sends as much as they
// can would have this process do nothing else.
const (
	readAtOnce = 256 << 10
	readRate   = 16 << 20 // a second, beyond that
	eventCost  = 2 << 10  // that each event of a stream counts for besides: whoever reads it has work with it
	shortWait  = time.Millisecond
)

// bounded hands out answers that cannot be read beyond their limits.
type bounded struct {
	base    http.RoundTripper
	maxBody int64
	idle    time.Duration
}

func newBounded(base http.RoundTripper, o Options) *bounded {
	return &bounded{base, cmp.Or(o.MaxBody, defaultBody), o.idle()}
}

func (b *bounded) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(req.Context())
	req = req.WithContext(ctx)
	if t := beeos.TraceOf(ctx); !t.IsZero() {
		addTrace(req, t)
	}
	resp, err := b.base.RoundTrip(req)
	if err != nil {
		cancel(nil)
		return nil, err
	}
	body := &body{ReadCloser: resp.Body, ctx: ctx, cancel: cancel, idle: b.idle, perEvent: b.maxBody, left: b.maxBody}
	if body.stream = isStream(req, resp); body.stream && !resp.Uncompressed {
		body.left *= streamFactor
	}
	resp.Body = body
	return resp, nil
}

// addTrace says in the headers of a request, which is ours, where it stands in a
// distributed trace, unless they say so already.
func addTrace(req *http.Request, t beeos.Trace) {
	if req.Header["Traceparent"] != nil {
		return
	}
	headers := req.Header.Clone()
	if headers == nil {
		headers = http.Header{}
	}
	headers["Traceparent"] = []string{t.Parent}
	if t.State != "" {
		headers["Tracestate"] = []string{t.State}
	}
	req.Header = headers
}

// isStream reports whether an answer will be read event by event. Who did not
// ask for events, or gets an error, reads it as a whole, whatever it says that
// it is.
func isStream(req *http.Request, resp *http.Response) bool {
	const events = "text/event-stream"
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")) // none: then it is no stream
	return kind == events && resp.StatusCode < 300 && strings.Contains(strings.Join(req.Header.Values("Accept"), ","), events)
}

// CloseIdleConnections is what http.Client.CloseIdleConnections looks for.
func (b *bounded) CloseIdleConnections() {
	if c, ok := b.base.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// body is an answer as it may be read. It sits above decompression: what it
// counts is what a reader would have to keep.
type body struct {
	io.ReadCloser
	ctx    context.Context
	cancel context.CancelCauseFunc
	idle   time.Duration
	timer  *time.Timer
	err    error // for good
	begun  time.Time
	read   int64

	left     int64 // of all of it
	perEvent int64
	stream   bool
	event    int64 // bytes of the event that is being read
	line     int64 // of its line
	events   int   // so far
	cr       bool  // the byte before was \r: a \n belongs to it
}

func (b *body) Read(p []byte) (int, error) {
	if b.err != nil {
		return 0, b.err
	}
	if b.timer == nil {
		b.timer = time.AfterFunc(b.idle, func() { b.cancel(errIdle) })
	} else {
		b.timer.Reset(b.idle)
	}
	n, err := b.ReadCloser.Read(p)
	b.timer.Stop()
	if err != nil && errors.Is(context.Cause(b.ctx), errIdle) {
		err = errIdle
	}
	if fits := b.take(p[:n]); fits < n {
		b.err = fmt.Errorf("%w: %d bytes are read at most, unpacked; have the server send less at once", ErrTooLarge, b.perEvent)
		b.cancel(b.err) // what else is on its way is of no use
		return fits, b.err
	}
	b.slowDown(n)
	return n, err
}

// slowDown waits when more was read than there was time for.
func (b *body) slowDown(n int) {
	b.read += int64(n)
	read := b.read + int64(b.events)*eventCost
	if read <= readAtOnce {
		return
	}
	now := time.Now()
	if b.begun.IsZero() {
		b.begun = now
	}
	due := time.Duration(float64(read-readAtOnce) / readRate * float64(time.Second))
	if wait := due - now.Sub(b.begun); wait >= shortWait {
		select {
		case <-time.After(wait):
		case <-b.ctx.Done(): // the next Read says why
		}
	}
}

func (b *body) Close() error {
	err := b.ReadCloser.Close()
	b.cancel(nil)
	return err
}

// take counts what was read and returns how much of it is within the limits.
func (b *body) take(p []byte) int {
	fits := int(min(int64(len(p)), b.left))
	b.left -= int64(fits)
	if !b.stream {
		return fits
	}
	for i, c := range p[:fits] {
		b.event++
		switch {
		case c == '\n' && b.cr:
			b.cr = false
			continue
		case c == '\n' || c == '\r':
			if b.line == 0 { // an empty line ends an event
				if b.event > 1 {
					b.events++
				}
				b.event = 0
			}
			b.line, b.cr = 0, c == '\r'
		default:
			b.line++
			b.cr = false
		}
		if b.event > b.perEvent || b.events > maxEvents {
			return i
		}
	}
	return fits
}
