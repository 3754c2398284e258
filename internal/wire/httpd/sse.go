package httpd

import (
	"bytes"
	"errors"
	"net/http"
	"os"
	"strconv"
	"sync"
	"time"
)

// sseWrite is how long a reader may refuse to take what we write before it
// is dropped; a stalled reader must not hold up whoever feeds the stream.
const sseWrite = 30 * time.Second

// Events are put together in buffers that all streams share: a stream on which
// nothing happens holds none.
var sseBuffers = sync.Pool{New: func() any { return new([]byte) }}

// sseBuffer is the largest buffer that is worth keeping.
const sseBuffer = 8 << 10

var errStreamClosed = errors.New("the stream is closed")

// SSE writes server-sent events. One goroutine may send events while the
// keep-alive runs beside it. Close it before the handler returns.
type SSE struct {
	mu     sync.Mutex
	w      http.ResponseWriter
	ctl    *http.ResponseController
	err    error     // the first failure, or errStreamClosed
	last   time.Time // when something was sent
	within time.Duration
	ticker *time.Timer
}

// NewSSE starts a stream: status 200, its headers, and a flush, so that the
// client sees it open before the first event.
func NewSSE(w http.ResponseWriter) *SSE {
	h := w.Header()
	h["Content-Type"] = []string{"text/event-stream"}
	h["Cache-Control"] = []string{"no-cache, no-transform"}
	h["X-Accel-Buffering"] = []string{"no"} // nginx would hold events back
	w.WriteHeader(http.StatusOK)
	s := &SSE{w: w, ctl: http.NewResponseController(w), last: time.Now(), within: sseWrite}
	s.err = s.ctl.Flush()
	return s
}

// DropAfter sets how long the reader may refuse to take what is written.
func (s *SSE) DropAfter(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.within = d
}

// Dropped reports whether the stream has ended because its reader took nothing.
func (s *SSE) Dropped() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return errors.Is(s.err, os.ErrDeadlineExceeded)
}

// Event sends one event. Name and id may be empty; line breaks in them are
// dropped, because they would end the field. Data may have several lines.
func (s *SSE) Event(name, id string, data []byte) error {
	buf := sseBuffers.Get().(*[]byte)
	b := appendField((*buf)[:0], "event: ", name)
	b = appendField(b, "id: ", id)
	b = append(appendData(b, data), '\n')
	err := s.send(b)
	if cap(b) <= sseBuffer {
		*buf = b
		sseBuffers.Put(buf)
	}
	return err
}

// Prime sends an event that has nothing in it but an id to come back with, and
// after how long to do so.
func (s *SSE) Prime(id string, retry time.Duration) error {
	b := appendField(nil, "id: ", id)
	b = appendField(b, "retry: ", strconv.FormatInt(retry.Milliseconds(), 10))
	return s.send(append(b, "data: \n\n"...))
}

// Comment sends a comment, which clients ignore and proxies take for life.
func (s *SSE) Comment() error { return s.send(comment) }

var comment = []byte(":\n\n")

// KeepAlive sends a comment whenever nothing else was sent for that long,
// until Close. It costs a timer, not a goroutine.
func (s *SSE) KeepAlive(every time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ticker = time.AfterFunc(every, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		wait := every - time.Since(s.last)
		if wait <= 0 {
			wait = every
			s.write(comment) //nolint:errcheck // kept in s.err for the next Event
		}
		if s.err == nil {
			s.ticker.Reset(wait)
		}
	})
}

// Close ends the stream and its keep-alive; nothing is written afterwards.
func (s *SSE) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ticker != nil {
		s.ticker.Stop()
	}
	if s.err == nil {
		s.err = errStreamClosed
		// The connection lives on, and its next request sets no deadline.
		s.ctl.SetWriteDeadline(time.Time{}) //nolint:errcheck // a writer without deadlines has none to clear
	}
}

// send writes b, one whole block, and flushes it.
func (s *SSE) send(b []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.write(b)
}

// write is send for a caller that holds the lock.
func (s *SSE) write(b []byte) error {
	if s.err != nil {
		return s.err
	}
	s.last = time.Now()
	s.ctl.SetWriteDeadline(s.last.Add(s.within)) //nolint:errcheck // not every writer has deadlines
	if _, s.err = s.w.Write(b); s.err == nil {
		s.err = s.ctl.Flush()
	}
	return s.err
}

func appendField(b []byte, field, value string) []byte {
	if value == "" {
		return b
	}
	b = append(b, field...)
	for i := range len(value) {
		if c := value[i]; c != '\n' && c != '\r' && c != 0 {
			b = append(b, c)
		}
	}
	return append(b, '\n')
}

// appendData writes one data field per line; a bare CR ends a line as well.
func appendData(b, data []byte) []byte {
	for {
		i := bytes.IndexAny(data, "\r\n")
		if i < 0 {
			b = append(b, "data: "...)
			b = append(b, data...)
			return append(b, '\n')
		}
		b = append(b, "data: "...)
		b = append(b, data[:i]...)
		b = append(b, '\n')
		if data[i] == '\r' && i+1 < len(data) && data[i+1] == '\n' {
			i++
		}
		data = data[i+1:]
	}
}
