package invoke

import (
	"log/slog"
	"testing"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/telemetry/trace"
	"github.com/beeos/beeos/test/otlp"
)

// unsampled is the call path's tracing where nobody looks at any call.
func unsampled(t testing.TB) *Calls {
	t.Helper()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", otlp.Start(t).URL)
	t.Setenv("OTEL_TRACES_SAMPLER", "always_off")
	tracer, err := trace.Open(t.Context(), "node", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(tracer.Close)
	return &Calls{opt: Options{Tracer: tracer}}
}

// traceCall does what a call does for its span before and after it.
func traceCall(t testing.TB, c *Calls, r *Request, last *beeos.Event) {
	ctx, span := c.startSpan(t.Context(), r)
	if span != nil || !beeos.TraceOf(ctx).IsZero() {
		t.Fatal("somebody looks at the call")
	}
	c.endSpan(span, r, nil, last, nil)
}

func requestOf(surface string) (*Request, *beeos.Event) {
	r := &Request{Agent: &beeos.Agent{ID: "agent_a", Name: "echo"}, Surface: surface, SessionID: "session s"}
	r.Entry.Method, r.Entry.Target, r.Entry.RPCID = "tools/call", "search", []byte("7")
	return r, &beeos.Event{Turn: "turn", Channel: "channel", Message: &beeos.Message{Type: beeos.AgentReply}}
}

// TestUnsampledCallsTellNothing: there is no span to fill, and the agent is told that
// nobody looks. A trace that the caller has brought goes on.
func TestUnsampledCallsTellNothing(t *testing.T) {
	c := unsampled(t)
	r, last := requestOf("mcp")
	traceCall(t, c, r, last)
	if told := beeos.ParseTrace(r.passed, ""); told.IsZero() || told.IsSampled() || r.origin != "" {
		t.Errorf("the agent is told %q, and %q is stored", r.passed, r.origin)
	}
	if n := testing.AllocsPerRun(200, func() { traceCall(t, c, r, last) }); n > 12 {
		t.Errorf("%v allocations for a call that nobody looks at", n)
	}
}

func BenchmarkUnsampled(b *testing.B) {
	c := unsampled(b)
	r, last := requestOf("mcp")
	b.ReportAllocs()
	for b.Loop() {
		traceCall(b, c, r, last)
	}
}
