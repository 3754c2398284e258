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
	Metrics  http.Handler    // served as /metrics
	Ready    []Check         // asked by /readyz
	Loopback bool            // behind a loopback listener: see guard.go
	Hosts    []string        // public names that may reach a loopback listener
}

// exchange is one request on its way: the response writer that knows what
// was answered, and the error that the log line will carry.
type exchange struct {
	http.ResponseWriter
	start  time.Time
	status int // 0 until the answer starts
	err    error
	body   body
	hurry  bool // the client was given leftTime
}

// body is that of a request, and whether there is more of it to come.
type body struct {
	io.ReadCloser
	left bool
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.left = b.left && err != io.EOF
	return n, err
}

// leftTime is how long a client may take to send what nobody wants to read.
// net/http waits for it before it sends our answer.
const leftTime = 5 * time.Second

type exchangeKey struct{}

func exchangeOf(ctx context.Context) *exchange {
	ex, _ := ctx.Value(exchangeKey{}).(*exchange)
	return ex
}

// requestContext carries both the exchange and the request id; one type for
// two values saves an allocation on every request.
type requestContext struct {
	context.Context
	ex *exchange
}

func (c *requestContext) Value(key any) any {
	if key == (exchangeKey{}) {
		return c.ex
	}
	return c.Context.Value(key)
}

// RequestID returns the id of the request that ctx belongs to, or "".
func RequestID(ctx context.Context) string { return telemetry.Value(ctx, "request") }

// With adds an attribute to every log line of this request's context: caller,
// agent, channel.
func With(ctx context.Context, key, value string) context.Context {
	return telemetry.With(ctx, key, value)
}

func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ex, r := begin(w, r)
	defer h.finish(ex, r)
	if h.Loopback && !h.local(r) {
		WriteError(ex, r, beeos.Errorf(beeos.Forbidden, "this address answers to localhost only: use a localhost URL without a foreign Origin"))
		return
	}
	if page := h.page(r); page != nil {
		page(ex, r)
		return
	}
	h.Next.ServeHTTP(ex, r)
}

// begin gives a request its id, and makes it one whose end is noted.
func begin(w http.ResponseWriter, r *http.Request) (*exchange, *http.Request) {
	id := requestID(r)
	ex := &exchange{ResponseWriter: w, start: time.Now()}
	header := w.Header()
	header["X-Request-Id"] = []string{id}
	header["X-Content-Type-Options"] = nosniff
	r = r.WithContext(&requestContext{telemetry.With(r.Context(), "request", id), ex})
	if r.ContentLength != 0 {
		ex.body = body{r.Body, true}
		r.Body = &ex.body
	}
	return ex, r
}

var nosniff = []string{"nosniff"}

// finish runs last, panic or not: it answers for a handler that fell over,
// counts, and writes the request's one log line where there is one to write.
func (h *Handler) finish(ex *exchange, r *http.Request) {
	fault := recover()
	abort := fault == http.ErrAbortHandler
	if fault != nil && !abort {
		err := fmt.Errorf("panic: %v\n%s", fault, debug.Stack())
		if ex.status == 0 {
			WriteError(ex, r, err)
		} else {
			ex.err, abort = err, true // half an answer must not look whole
		}
	}
	ex.answer(http.StatusOK) // what net/http sends when nobody says anything
	took := time.Since(ex.start)
	if h.HTTP != nil {
		h.HTTP.Done(ex.status, took)
	}
	h.log(ex, r, took)
	if abort {
		panic(http.ErrAbortHandler)
	}
}

// log writes the access line: always when something went wrong on our side,
// otherwise for those who debug.
func (h *Handler) log(ex *exchange, r *http.Request, took time.Duration) {
	level := slog.LevelDebug
	switch {
	case cancelled(r, ex.err): // a client that leaves is no news
	case ex.status == http.StatusInternalServerError || (ex.err != nil && beeos.CodeOf(ex.err) == beeos.InternalError):
		level = slog.LevelError
	case ex.err != nil && errors.Unwrap(ex.err) != nil, ex.err == nil && ex.status > http.StatusInternalServerError:
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
		slog.Int("status", ex.status), slog.Duration("took", took),
	}
	if ex.err != nil {
		attrs = append(attrs, slog.Any("err", ex.err))
	}
	log.LogAttrs(r.Context(), level, "request", attrs...)
}

// answer notes that the answer starts.
func (ex *exchange) answer(status int) {
	if ex.status != 0 || status < http.StatusOK {
		return
	}
	ex.status = status
	if ex.body.left {
		ctl := http.NewResponseController(ex.ResponseWriter)
		ex.hurry = ctl.SetReadDeadline(time.Now().Add(leftTime)) == nil
	}
}

func (ex *exchange) WriteHeader(status int) {
	ex.answer(status)
	ex.ResponseWriter.WriteHeader(status)
}

func (ex *exchange) Write(b []byte) (int, error) {
	ex.answer(http.StatusOK)
	return ex.ResponseWriter.Write(b)
}

// Unwrap lets http.ResponseController reach deadlines and full duplex.
func (ex *exchange) Unwrap() http.ResponseWriter { return ex.ResponseWriter }

// Flush is here for code that asserts http.Flusher.
func (ex *exchange) Flush() { ex.FlushError() } //nolint:errcheck // Flusher has no error to give

// FlushError lets http.ResponseController say why a flush failed: a reader that
// takes nothing is noticed there.
func (ex *exchange) FlushError() error {
	ex.answer(http.StatusOK)
	ctl := http.NewResponseController(ex.ResponseWriter)
	err := ctl.Flush()
	if ex.hurry { // the answer is on its way, and may be a long one
		ex.hurry = false
		ctl.SetReadDeadline(time.Time{}) //nolint:errcheck // it worked a moment ago
	}
	return err
}

// Hijack hands the connection over, to a WebSocket.
func (ex *exchange) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := http.NewResponseController(ex.ResponseWriter).Hijack()
	if err == nil {
		ex.status = http.StatusSwitchingProtocols
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
