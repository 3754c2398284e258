package telemetry

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestContextAttributes(t *testing.T) {
	ctx := With(context.Background(), "request", "r1")
	ctx = With(ctx, "agent", "a1")
	type other struct{}
	ctx = context.WithValue(ctx, other{}, 1) // a foreign value in between
	ctx = With(ctx, "agent", "a2")
	for key, want := range map[string]string{"request": "r1", "agent": "a2", "channel": ""} {
		if got := Value(ctx, key); got != want {
			t.Errorf("%s = %q, want %q", key, got, want)
		}
	}
	if ctx.Value(other{}) != 1 {
		t.Error("a foreign value got lost")
	}
	var log bytes.Buffer
	logger := NewLogger(&log, "json", slog.LevelInfo).With("part", "mcp")
	logger.InfoContext(ctx, "hello", "n", 1)
	var line map[string]any
	if err := json.Unmarshal(log.Bytes(), &line); err != nil {
		t.Fatal(err)
	}
	delete(line, "time")
	want := map[string]any{"level": "INFO", "msg": "hello", "part": "mcp", "n": 1.0, "request": "r1", "agent": "a2"}
	if diff := cmp.Diff(want, line); diff != "" {
		t.Error(diff)
	}
}

func TestLoggerFormats(t *testing.T) {
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	if isTerminal(null) || isTerminal(io.Discard) {
		t.Error("taken for a terminal")
	}
	tests := []struct{ format, want string }{
		{"json", `"msg":"hi"`}, {"auto", `"msg":"hi"`}, {"", `"msg":"hi"`}, {"text", "INF hi agent=a1"},
	}
	for _, tt := range tests {
		var log bytes.Buffer
		logger := NewLogger(&log, tt.format, slog.LevelInfo)
		logger.InfoContext(With(context.Background(), "agent", "a1"), "hi")
		logger.Debug("not this")
		if got := log.String(); !strings.Contains(got, tt.want) || strings.Count(got, "\n") != 1 || strings.Contains(got, "\x1b") {
			t.Errorf("%q: %q, want %q", tt.format, got, tt.want)
		}
	}
}

func TestLevelCanChange(t *testing.T) {
	var log bytes.Buffer
	var level slog.LevelVar
	logger := NewLogger(&log, "json", &level)
	logger.Debug("before")
	level.Set(slog.LevelDebug)
	logger.WithGroup("g").Debug("after", "k", "v")
	if got := log.String(); strings.Contains(got, "before") || !strings.Contains(got, `"g":{"k":"v"}`) {
		t.Error(got)
	}
}

func TestMetrics(t *testing.T) {
	m := NewMetrics()
	h := m.HTTP("rest")
	h.Done(200, 3*time.Millisecond)
	h.Done(200, 3*time.Millisecond)
	h.Done(404, time.Second)
	h.Done(7, 0)
	m.Call("mcp", "ok", 20*time.Millisecond)
	m.Call("mcp", "service_timeout", time.Minute)
	m.Commit(5, time.Millisecond)
	m.Gauge("connected_agents", "Agents connected to this node.", func() float64 { return 3 })

	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	page := w.Body.String()
	for _, want := range []string{
		`beeos_http_requests_total{code="200",surface="rest"} 2`,
		`beeos_http_requests_total{code="404",surface="rest"} 1`,
		`beeos_http_requests_total{code="599",surface="rest"} 1`,
		`beeos_http_request_seconds_count{surface="rest"} 4`,
		`beeos_call_seconds_count{outcome="ok",surface="mcp"} 1`,
		`beeos_call_seconds_bucket{outcome="service_timeout",surface="mcp",le="60"} 1`,
		`beeos_commit_batch_size_bucket{le="8"} 1`,
		`beeos_commit_seconds_count 1`,
		`beeos_connected_agents 3`,
		`go_goroutines `,
		`process_open_fds `,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("no %s", want)
		}
	}
	NewMetrics().Gauge("connected_agents", "again", func() float64 { return 0 }) // registries do not meet
}

func BenchmarkHTTPDone(b *testing.B) {
	h := NewMetrics().HTTP("mcp")
	b.ReportAllocs()
	for b.Loop() {
		h.Done(200, time.Millisecond)
	}
}
