package httpd

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/telemetry"
)

// serve runs one request through a Handler and returns the answer and the log.
func serve(h *Handler, r *http.Request) (*httptest.ResponseRecorder, string) {
	var log bytes.Buffer
	h.Log = telemetry.NewLogger(&log, "json", slog.LevelInfo)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w, log.String()
}

func get(path string) *http.Request { return httptest.NewRequest("GET", path, nil) }

func TestRequestID(t *testing.T) {
	tests := []struct {
		name  string
		given []string
		kept  bool
	}{
		{"none", nil, false},
		{"plain", []string{"abc-123_X.y"}, true},
		{"longest", []string{strings.Repeat("a", 64)}, true},
		{"too long", []string{strings.Repeat("a", 65)}, false},
		{"empty", []string{""}, false},
		{"line break", []string{"a\nb"}, false},
		{"markup", []string{"<b>"}, false},
		{"not ASCII", []string{"é"}, false},
		{"two", []string{"a", "b"}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var seen string
			h := &Handler{Next: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { seen = RequestID(r.Context()) })}
			r := get("/")
			r.Header["X-Request-Id"] = tt.given
			w, _ := serve(h, r)
			id := w.Header().Get("X-Request-Id")
			if id == "" || id != seen {
				t.Errorf("header %q, context %q", id, seen)
			}
			if kept := len(tt.given) > 0 && id == tt.given[0]; kept != tt.kept {
				t.Errorf("given %q, got %q", tt.given, id)
			}
		})
	}
	if id := RequestID(context.Background()); id != "" {
		t.Errorf("id %q outside of a request", id)
	}
}

func TestPanicIsAnsweredAndLogged(t *testing.T) {
	t.Run("before the answer", func(t *testing.T) {
		h := &Handler{Next: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("kaboom") })}
		r := get("/x")
		r.Header.Set("X-Request-Id", "req-1")
		w, log := serve(h, r)
		if w.Code != 500 || strings.Contains(w.Body.String(), "kaboom") {
			t.Errorf("%d %s", w.Code, w.Body)
		}
		var body errorBody
		if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil {
			t.Fatal(err)
		}
		if body.Error.Code != beeos.InternalError || body.Error.Details["request_id"] != "req-1" {
			t.Errorf("body %s", w.Body)
		}
		if strings.Count(log, "\n") != 1 || !strings.Contains(log, "kaboom") || !strings.Contains(log, `"request":"req-1"`) || !strings.Contains(log, "handler_test.go") {
			t.Errorf("log: %s", log)
		}
	})
	t.Run("in the middle", func(t *testing.T) {
		h := &Handler{Next: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			io.WriteString(w, "half")
			panic("kaboom")
		})}
		defer func() {
			if fault := recover(); fault != http.ErrAbortHandler {
				t.Errorf("recovered %v, want the connection aborted", fault)
			}
		}()
		serve(h, get("/"))
		t.Error("half an answer looks whole")
	})
	t.Run("abort", func(t *testing.T) {
		h := &Handler{Next: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })}
		defer func() {
			if fault := recover(); fault != http.ErrAbortHandler {
				t.Errorf("recovered %v", fault)
			}
		}()
		serve(h, get("/"))
	})
}

func TestAccessLog(t *testing.T) {
	answer := func(status int) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
	}
	fail := func(err error) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { WriteError(w, r, err) })
	}
	tests := []struct {
		name  string
		next  http.Handler
		level string // "" = no line
		want  string
	}{
		{"success", answer(200), "", ""},
		{"caller's fault", fail(beeos.Errorf(beeos.NotFound, "no")), "", ""},
		{"500", answer(500), "ERROR", `"status":500`},
		{"internal", fail(errors.New("disk on fire")), "ERROR", "disk on fire"},
		{"offline agent", fail(beeos.Errorf(beeos.AgentOffline, "nobody home")), "", ""},
		{"database away", fail(beeos.Wrap(beeos.AgentServiceUnavailable, errors.New("dial refused"), "not stored")), "WARN", "dial refused"},
		{"reported behind a 200", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(200)
			Report(r, errors.New("stream broke"))
		}), "ERROR", "stream broke"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := get("/some/path?token=secret")
			_, log := serve(&Handler{Next: tt.next}, r)
			if tt.level == "" {
				if log != "" {
					t.Errorf("log: %s", log)
				}
				return
			}
			if strings.Count(log, "\n") != 1 || !strings.Contains(log, `"level":"`+tt.level+`"`) || !strings.Contains(log, tt.want) ||
				!strings.Contains(log, `"path":"/some/path"`) || strings.Contains(log, "secret") {
				t.Errorf("log: %s", log)
			}
		})
	}
}

func TestHandlerHeadersAndMetrics(t *testing.T) {
	m := telemetry.NewMetrics()
	h := &Handler{
		Next: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }),
		HTTP: m.HTTP("mcp"),
	}
	w, _ := serve(h, get("/"))
	if got := w.Header().Get("X-Content-Type-Options"); got != "nosniff" {
		t.Errorf("X-Content-Type-Options %q", got)
	}
	w = httptest.NewRecorder()
	m.Handler().ServeHTTP(w, get("/metrics"))
	if want := `beeos_http_requests_total{code="418",surface="mcp"} 1`; !strings.Contains(w.Body.String(), want) {
		t.Errorf("metrics lack %s", want)
	}
}

// TestRefusalsAreCounted: an answer that is an error counts once, under the code
// that it had first, and never under a word that is not ours.
func TestRefusalsAreCounted(t *testing.T) {
	m := telemetry.NewMetrics()
	offline := beeos.Errorf(beeos.AgentOffline, "it is offline")
	h := &Handler{HTTP: m.HTTP("rest"), Next: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/renamed":
			CountRefusal(r, offline)
			WriteError(w, r, beeos.Errorf(beeos.AgentServiceUnavailable, "it is not there"))
		case "/strange":
			WriteError(w, r, beeos.Errorf("made_up", "no such code"))
		default:
			WriteError(w, r, offline)
		}
	})}
	for _, path := range []string{"/", "/renamed", "/strange"} {
		serve(h, get(path))
	}
	WriteError(httptest.NewRecorder(), get("/"), offline) // behind no handler there is nobody to tell
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, get("/metrics"))
	var got []string
	for line := range strings.Lines(w.Body.String()) {
		if strings.HasPrefix(line, "beeos_refusals_total{") {
			got = append(got, strings.TrimSpace(line))
		}
	}
	want := []string{`beeos_refusals_total{reason="agent_offline",surface="rest"} 2`, `beeos_refusals_total{reason="internal_error",surface="rest"} 1`}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

func TestHealthPages(t *testing.T) {
	broken := errors.New("connection to 10.0.0.7 refused")
	ok := Check{Name: "store", Check: func(context.Context) error { return nil }}
	bad := Check{Name: "bus", Check: func(context.Context) error { return broken }}
	next := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })
	tests := []struct {
		method, path string
		ready        []Check
		status       int
		body         string
	}{
		{"GET", "/healthz", []Check{bad}, 200, `{"status":"ok"}`},
		{"HEAD", "/healthz", nil, 200, ""},
		{"POST", "/healthz", nil, 405, ""},
		{"GET", "/readyz", nil, 200, `{"status":"ok"}`},
		{"GET", "/readyz", []Check{ok}, 200, `{"status":"ok"}`},
		{"GET", "/readyz", []Check{ok, bad}, 503, `{"status":"unavailable","check":"bus"}`},
		{"GET", "/metrics", nil, 418, ""}, // of the admin listener alone
		{"GET", "/healthz/", nil, 418, ""},
	}
	for _, tt := range tests {
		w, log := serve(&Handler{Next: next, Ready: tt.ready}, httptest.NewRequest(tt.method, tt.path, nil))
		body := strings.TrimSpace(w.Body.String())
		if w.Code != tt.status || (tt.body != "" && body != tt.body) {
			t.Errorf("%s %s = %d %s, want %d %s", tt.method, tt.path, w.Code, body, tt.status, tt.body)
		}
		if tt.status == 503 && !strings.Contains(log, "10.0.0.7") {
			t.Errorf("the log does not say why: %s", log)
		}
	}
}

func TestResponseWriterPassesThrough(t *testing.T) {
	h := &Handler{Next: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, ok := w.(http.Flusher); !ok {
			t.Error("not a Flusher")
		}
		if _, ok := w.(http.Hijacker); !ok {
			t.Error("not a Hijacker")
		}
		if r.URL.Path == "/hijack" {
			conn, _, err := w.(http.Hijacker).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\n\r\n")
			return
		}
		w.WriteHeader(http.StatusEarlyHints)
		w.(http.Flusher).Flush()
	})}
	srv := httptest.NewServer(h)
	defer srv.Close()
	for path, want := range map[string]int{"/": 200, "/hijack": 101} {
		res, err := http.Get(srv.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != want {
			t.Errorf("%s: %d, want %d", path, res.StatusCode, want)
		}
	}
}

func TestWithReachesTheLog(t *testing.T) {
	h := &Handler{}
	h.Next = http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		h.Log.InfoContext(With(r.Context(), "agent", "agent_1"), "hello")
	})
	r := get("/")
	r.Header.Set("X-Request-Id", "req-9")
	_, log := serve(h, r)
	var line map[string]any
	if err := json.Unmarshal([]byte(log), &line); err != nil {
		t.Fatal(err)
	}
	delete(line, "time")
	want := map[string]any{"level": "INFO", "msg": "hello", "request": "req-9", "agent": "agent_1"}
	if diff := cmp.Diff(want, line); diff != "" {
		t.Error(diff)
	}
}

type discardWriter struct{ h http.Header }

func (w discardWriter) Header() http.Header         { return w.h }
func (w discardWriter) Write(b []byte) (int, error) { return len(b), nil }
func (w discardWriter) WriteHeader(int)             {}

func BenchmarkHandler(b *testing.B) {
	m := telemetry.NewMetrics()
	h := &Handler{
		Next:     http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(200) }),
		Log:      slog.New(slog.DiscardHandler),
		HTTP:     m.HTTP("mcp"),
		Loopback: true,
	}
	r := httptest.NewRequest("POST", "http://127.0.0.1:8094/agent_1/mcp", nil)
	w := discardWriter{http.Header{}}
	b.ReportAllocs()
	for b.Loop() {
		h.ServeHTTP(w, r)
	}
}

func TestHTTPSIsForGood(t *testing.T) {
	for https, want := range map[bool]string{true: "max-age=31536000", false: ""} {
		w, _ := serve(&Handler{Next: http.HandlerFunc(ok), HTTPS: https}, get("/"))
		if got := w.Header().Get("Strict-Transport-Security"); got != want {
			t.Errorf("https %v: %q, want %q", https, got, want)
		}
	}
}
