package httpd

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/telemetry"
)

// TestTraceOfRequest: the place in a trace that the headers name is in the context
// and in the log, and so is a trace that was begun for the request. What is no
// such place is ignored.
func TestTraceOfRequest(t *testing.T) {
	const id, parent = "0af7651916cd43dd8448eb211c80319c", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	for name, c := range map[string]struct {
		parents, states []string
		begun           string
		want            beeos.Trace
		logged          string
	}{
		"none":       {},
		"named":      {parents: []string{parent}, states: []string{"a=1", "b=2"}, want: beeos.Trace{Parent: parent, State: "a=1,b=2"}, logged: id},
		"two":        {parents: []string{parent, parent}},
		"malformed":  {parents: []string{parent + "x"}, states: []string{"a=1"}},
		"begun here": {begun: strings.Repeat("1", 32), logged: strings.Repeat("1", 32)},
		"gone on":    {parents: []string{parent}, begun: id, want: beeos.Trace{Parent: parent}, logged: id},
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			var got beeos.Trace
			h := &Handler{Log: telemetry.NewLogger(&log, "json", slog.LevelDebug), Next: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				if got = beeos.TraceOf(r.Context()); c.begun != "" {
					NoteTrace(r.Context(), c.begun)
				}
			})}
			r := httptest.NewRequest("GET", "/", nil)
			r.Header["Traceparent"], r.Header["Tracestate"] = c.parents, c.states
			h.ServeHTTP(httptest.NewRecorder(), r)
			if got != c.want {
				t.Errorf("%+v, want %+v", got, c.want)
			}
			if n := strings.Count(log.String(), `"trace":"`+c.logged+`"`); (n == 1) != (c.logged != "") || strings.Count(log.String(), `"trace"`) > 1 {
				t.Errorf("logged %s", log.String())
			}
		})
	}
}
