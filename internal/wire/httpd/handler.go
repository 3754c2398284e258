package httpd

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/telemetry"
)

// Handler is what stands in front of one surface. The zero values of all but
// Next are usable: no metrics, the default logger, no checks.
type Handler struct {
	Next     http.Handler
	Log      *slog.Logger
	HTTP     *telemetry.HTTP // where this surface's requests are counted
	Ready    []Check         // asked by /readyz
	Loopback bool            // behind a loopback listener: see guard.go
	Hosts    []string        // public names that may reach a loopback listener
	HTTPS    bool            // the public address is an https one: browsers are to use no other
	Local    string          // URL by which this machine reaches the surface here, if its public one is another
	Proxies  *Proxies        // whose word on clients counts; nil = nobody's
	Help     string          // URL of the page about errors; empty = there is none
	Stopping *atomic.Bool    // true = the process is about to stop; nil = it never is
}

// trackedResponse is that of one request on its way: a writer that knows what
// was answered, and the error that the log line will carry.
type trackedResponse struct {
	http.ResponseWriter
	start  time.Time
	status int // 0 until the answer starts
	err    error
	body   body
	hurry  bool // the client was given leftTime
	counts *telemetry.HTTP

	proxies *Proxies
	base    string // see Base; empty = the public URL
	help    string // as in Handler

	failed atomic.Bool // the error that it is answered with was counted
	trace  atomic.Pointer[string]
	sender atomic.Pointer[string]
}

// body is that of a request, and whether there is more of it to come. While
// there is, the connection has a deadline, and it is taken away nowhere else:
// whoever sends a byte a minute would hold the connection for ever.
type body struct {
	io.ReadCloser
	deadline *http.ResponseController
	left     bool
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err == nil || !b.left {
		return n, err
	}
	b.left = false
	if err == io.EOF {
		b.deadline.SetReadDeadline(time.Time{}) //nolint:errcheck // where there are no deadlines, there is none to take away
	}
	return n, err
}

const (
	// bodyTime is how long a client may take to send a body.
	bodyTime = 20 * time.Second
	// leftTime is how long it may take to send what nobody wants to read.
	// net/http waits for it before it sends our answer.
	leftTime = 5 * time.Second
)

// AllowBody gives the client of a large upload more time for its body.
func AllowBody(w http.ResponseWriter, within time.Duration) {
	http.NewResponseController(w).SetReadDeadline(time.Now().Add(within)) //nolint:errcheck // what has no deadlines is no connection
}

type responseKey struct{}

func responseOf(ctx context.Context) *trackedResponse {
	resp, _ := ctx.Value(responseKey{}).(*trackedResponse)
	return resp
}

// requestContext carries both the response and the request id; one type for
// two values saves an allocation on every request.
type requestContext struct {
	context.Context
	resp *trackedResponse
}

func (c *requestContext) Value(key any) any {
	if key == (responseKey{}) {
		return c.resp
	}
	return c.Context.Value(key)
}

// RequestID returns the id of the request that ctx belongs to, or "".
func RequestID(ctx context.Context) string { return telemetry.Value(ctx, "request") }

// Base is the URL below which the client has reached the surface: its public one,
// or that of the listener for programs on this machine. What else a client says
// in Host counts for nothing.
func Base(r *http.Request, public string) string {
	if resp := responseOf(r.Context()); resp != nil && resp.base != "" {
		return resp.base
	}
	return public
}

// With adds an attribute to every log line of this request's context: caller,
// agent, channel.
func With(ctx context.Context, key, value string) context.Context {
	return telemetry.With(ctx, key, value)
}

func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	resp, r := begin(w, r)
	resp.counts, resp.proxies, resp.help = h.HTTP, h.Proxies, h.Help
	if h.Local != "" && loopbackName(hostname(r.Host)) {
		resp.base = h.Local
	}
	defer h.finish(resp, r)
	if h.HTTPS {
		w.Header()["Strict-Transport-Security"] = oneYear
	}
	if h.isStopping() {
		w.Header()["Connection"] = closing // the client's next request finds another process, or this one again
	}
	if h.Loopback && !h.local(r) {
		WriteError(resp, r, beeos.Errorf(beeos.Forbidden, "this address answers to localhost only: use a localhost URL without a foreign Origin"))
		return
	}
	if !isText(r.URL) {
		WriteError(resp, r, beeos.Errorf(beeos.InvalidParam, "the address holds bytes that are no text: write it in UTF-8, without the zero byte, and percent-encode that"))
		return
	}
	crowded := isCrowded(w, r)
	if page := h.page(r); page != nil {
		page(resp, r)
		return
	}
	if crowded {
		WriteError(resp, r, errFull)
		return
	}
	h.Next.ServeHTTP(resp, r)
}

// begin gives a request its id, and makes it one whose end is noted.
func begin(w http.ResponseWriter, r *http.Request) (*trackedResponse, *http.Request) {
	id := requestID(r)
	resp := &trackedResponse{ResponseWriter: w, start: time.Now()}
	header := w.Header()
	header["X-Request-Id"] = []string{id}
	header["X-Content-Type-Options"] = nosniff
	r = r.WithContext(&requestContext{withTrace(telemetry.With(r.Context(), "request", id), r.Header), resp})
	if r.ContentLength != 0 {
		resp.body = body{r.Body, http.NewResponseController(w), true}
		resp.body.deadline.SetReadDeadline(resp.start.Add(bodyTime)) //nolint:errcheck // what has no deadlines is no connection
		r.Body = &resp.body
	}
	return resp, r
}

var (
	nosniff = []string{"nosniff"}
	oneYear = []string{"max-age=31536000"}
	closing = []string{"close"}
)

// finish runs last, panic or not: it answers for a handler that fell over,
// counts, and writes the request's one log line where there is one to write.
func (h *Handler) finish(resp *trackedResponse, r *http.Request) {
	fault := recover()
	abort := fault == http.ErrAbortHandler
	if fault != nil && !abort {
		err := fmt.Errorf("panic: %v\n%s", fault, debug.Stack())
		if resp.status == 0 {
			WriteError(resp, r, err)
		} else {
			resp.err, abort = err, true // half an answer must not look whole
		}
	}
	resp.answer(http.StatusOK) // what net/http sends when nobody says anything
	took := time.Since(resp.start)
	if h.HTTP != nil {
		h.HTTP.Done(resp.status, took)
	}
	h.log(resp, r, took)
	if abort {
		panic(http.ErrAbortHandler)
	}
}

// log writes the access line: always when something went wrong on our side,
// otherwise for those who debug.
func (h *Handler) log(resp *trackedResponse, r *http.Request, took time.Duration) {
	level := slog.LevelDebug
	switch {
	case cancelled(r, resp.err): // a client that leaves is no news
	case resp.status == http.StatusInternalServerError || (resp.err != nil && beeos.CodeOf(resp.err) == beeos.InternalError):
		level = slog.LevelError
	case resp.err != nil && errors.Unwrap(resp.err) != nil, resp.err == nil && resp.status > http.StatusInternalServerError:
		level = slog.LevelWarn // something behind us failed
	}
	log := h.Log
	if log == nil {
		log = slog.Default()
	}
	if !log.Enabled(r.Context(), level) {
		return
	}
	attrs := []slog.Attr{
		slog.String("method", r.Method), slog.String("path", r.URL.Path),
		slog.Int("status", resp.status), slog.Duration("took", took),
	}
	if id := resp.trace.Load(); id != nil {
		attrs = append(attrs, slog.String("trace", *id))
	}
	if resp.err != nil {
		attrs = append(attrs, slog.Any("err", resp.err))
	}
	log.LogAttrs(r.Context(), level, "request", attrs...)
}

// answer notes that the answer starts.
func (resp *trackedResponse) answer(status int) {
	if resp.status != 0 || status < http.StatusOK {
		return
	}
	resp.status = status
	if resp.body.left {
		resp.hurry = resp.body.deadline.SetReadDeadline(time.Now().Add(leftTime)) == nil
	}
}

func (resp *trackedResponse) WriteHeader(status int) {
	resp.answer(status)
	resp.ResponseWriter.WriteHeader(status)
}

func (resp *trackedResponse) Write(b []byte) (int, error) {
	resp.answer(http.StatusOK)
	return resp.ResponseWriter.Write(b)
}

// Unwrap lets http.ResponseController reach deadlines and full duplex.
func (resp *trackedResponse) Unwrap() http.ResponseWriter { return resp.ResponseWriter }

// Flush is here for code that asserts http.Flusher.
func (resp *trackedResponse) Flush() { resp.FlushError() } //nolint:errcheck // Flusher has no error to give

// FlushError lets http.ResponseController say why a flush failed: a reader that
// takes nothing is noticed there.
func (resp *trackedResponse) FlushError() error {
	resp.answer(http.StatusOK)
	ctl := http.NewResponseController(resp.ResponseWriter)
	err := ctl.Flush()
	if resp.hurry { // the answer is on its way, and may be a long one
		resp.hurry = false
		ctl.SetReadDeadline(time.Time{}) //nolint:errcheck // it worked a moment ago
	}
	return err
}

// Hijack hands the connection over, to a WebSocket.
func (resp *trackedResponse) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := http.NewResponseController(resp.ResponseWriter).Hijack()
	if err == nil {
		resp.status = http.StatusSwitchingProtocols
	}
	return conn, rw, err
}

// requestID takes over the caller's id when it is short and plain enough to
// be put into a log line, and makes one otherwise.
func requestID(r *http.Request) string {
	if given := r.Header["X-Request-Id"]; len(given) == 1 && saneID(given[0]) {
		return given[0]
	}
	return beeos.NewID()
}

func saneID(id string) bool {
	if id == "" || len(id) > 64 {
		return false
	}
	for i := range len(id) {
		c := id[i]
		if c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9' || c == '-' || c == '_' || c == '.' {
			continue
		}
		return false
	}
	return true
}
