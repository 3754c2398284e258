package telemetry

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"os"
	"strings"
	"testing"

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
