package trace

import (
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/test/otlp"
)

const (
	callerTrace = "0af7651916cd43dd8448eb211c80319c"
	callerSpan  = "b7ad6b7169203331"
)

var caller = beeos.ParseTrace("00-"+callerTrace+"-"+callerSpan+"-01", "vendor=1")

var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

// open returns a Tracer that sends to a receiver.
func open(t *testing.T) (*Tracer, *otlp.Receiver) {
	t.Helper()
	r := otlp.Start(t)
	r.Use(t)
	tracer, err := Open(t.Context(), "node-1", quiet)
	if err != nil || tracer == nil {
		t.Fatalf("%v, %v", tracer, err)
	}
	t.Cleanup(tracer.Close)
	return tracer, r
}

// TestOffUnlessAskedFor: without an exporter or an endpoint there is no Tracer.
func TestOffUnlessAskedFor(t *testing.T) {
	for name, c := range map[string]struct {
		env   map[string]string
		on    bool
		wrong string
	}{
		"nothing":           {},
		"a name alone":      {env: map[string]string{"OTEL_SERVICE_NAME": "x", "OTEL_TRACES_SAMPLER": "always_on"}},
		"an endpoint":       {env: map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"}, on: true},
		"one for traces":    {env: map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://127.0.0.1:1/v1/traces"}, on: true},
		"an exporter":       {env: map[string]string{"OTEL_TRACES_EXPORTER": "otlp"}, on: true},
		"none":              {env: map[string]string{"OTEL_TRACES_EXPORTER": "none", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"}},
		"disabled":          {env: map[string]string{"OTEL_SDK_DISABLED": "TRUE", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"}},
		"gRPC":              {env: map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, on: true},
		"unknown exporter":  {env: map[string]string{"OTEL_TRACES_EXPORTER": "zipkin"}, wrong: "otlp or none"},
		"unknown protocol":  {env: map[string]string{"OTEL_TRACES_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_PROTOCOL": "http/json"}, wrong: "http/protobuf or grpc"},
		"the more specific": {env: map[string]string{"OTEL_TRACES_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_PROTOCOL": "http/json", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "grpc"}, on: true},
	} {
		t.Run(name, func(t *testing.T) {
			for k, v := range c.env {
				t.Setenv(k, v)
			}
			tracer, err := Open(t.Context(), "node-1", quiet)
			if (tracer != nil) != c.on || (err != nil) != (c.wrong != "") || err != nil && !strings.Contains(err.Error(), c.wrong) {
				t.Errorf("%v, %v", tracer, err)
			}
			tracer.Close()
		})
	}
}

// TestSpansAreCollected: what is begun and ended live, and what is put together
// afterwards, with the ids and times that it is to have.
func TestSpansAreCollected(t *testing.T) {
	t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=test")
	tracer, receiver := open(t)
	other := beeos.ParseTrace("00-11111111111111111111111111111111-2222222222222222-01", "")
	e := Entry{Surface: "mcp", Method: "tools/call", Target: "search", RPCID: []byte(`"7"`), Revision: "2025-11-25", Session: "ch-1"}
	span := tracer.Start(caller, e.Name(), Server, other)
	if got := span.Trace(); got.ID() != callerTrace || got.Span() == callerSpan || !got.IsSampled() || got.State != "vendor=1" || !span.IsRecorded() {
		t.Errorf("%+v", got)
	}
	span.Set(e.Attrs()...)
	start := time.Date(2026, 11, 14, 10, 0, 0, 0, time.UTC)
	name, attrs := AgentSpan("agent_1", "echo")
	tracer.Emit(&Record{Parent: span.Trace(), ID: RequestSpan("r1"), Name: name, Kind: Client, Start: start, End: start.Add(48 * time.Hour), Attrs: append(attrs, Number(AttemptNumber, 2)), Error: "agent_lost", Words: "gone"})
	span.End("tool_error", "")
	root := beeos.ParseTrace("00-33333333333333333333333333333333-4444444444444444-01", "")
	tracer.Emit(&Record{Parent: root, Root: true, ID: "5555555555555555", Name: "root", Kind: Internal, Start: start, End: start.Add(-time.Hour)})

	all := receiver.Await(t, callerTrace, "tools/call search", "invoke_agent echo")
	s := all.Span(t, "tools/call search")
	if s.Kind != "SERVER" || s.Parent != callerSpan || !s.Failed || len(s.Links) != 1 || s.Links[0] != "11111111111111111111111111111111-2222222222222222" {
		t.Errorf("%+v", s)
	}
	want := map[string]string{
		"beeos.surface": "mcp", "mcp.method.name": "tools/call", "jsonrpc.request.id": "7", "mcp.protocol.version": "2025-11-25", "mcp.session.id": "ch-1",
		"network.protocol.name": "http", "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "search", "error.type": "tool_error",
	}
	if diff := cmp.Diff(want, s.Attrs); diff != "" {
		t.Error(diff)
	}
	for key, value := range map[string]string{"service.name": "beeos", "service.version": beeos.Version, "service.instance.id": "node-1", "deployment.environment.name": "test"} {
		if s.Service[key] != value {
			t.Errorf("%s is %q, want %q", key, s.Service[key], value)
		}
	}
	a := all.Span(t, "invoke_agent echo")
	if a.ID != RequestSpan("r1") || a.Parent != s.ID || a.Kind != "CLIENT" || !a.Start.Equal(start) || a.End.Sub(a.Start) != 48*time.Hour || a.Attrs["error.type"] != "agent_lost" || a.Words != "gone" {
		t.Errorf("%+v", a)
	}
	if r := receiver.Await(t, root.ID(), "root").Span(t, "root"); r.ID != "5555555555555555" || r.Parent != "" || r.End.Before(r.Start) || r.Failed {
		t.Errorf("%+v", r)
	}
}

// TestSpansGoOverGRPC: when the standard variable says so.
func TestSpansGoOverGRPC(t *testing.T) {
	receiver := otlp.StartGRPC(t)
	receiver.Use(t)
	t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")
	tracer, err := Open(t.Context(), "node-1", quiet)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(tracer.Close)
	span := tracer.Start(caller, "x", Server)
	span.End("", "")
	if s := receiver.Await(t, callerTrace, "x").Span(t, "x"); s.Parent != callerSpan || s.Kind != "SERVER" {
		t.Errorf("%+v", s)
	}
}

// TestServiceName: the standard variable wins over ours.
func TestServiceName(t *testing.T) {
	t.Setenv("OTEL_SERVICE_NAME", "mine")
	tracer, receiver := open(t)
	span := tracer.Start(beeos.Trace{}, "x", Internal)
	span.End("", "")
	if s := receiver.Await(t, span.Trace().ID(), "x").Span(t, "x"); s.Service["service.name"] != "mine" || s.Parent != "" {
		t.Errorf("%+v", s)
	}
}

// TestSampling: who is not to be looked at is not, and the next in line is told.
func TestSampling(t *testing.T) {
	t.Setenv("OTEL_TRACES_SAMPLER", "parentbased_traceidratio")
	t.Setenv("OTEL_TRACES_SAMPLER_ARG", "0.25")
	tracer, receiver := open(t)
	sampled := 0
	for range 2000 {
		span := tracer.Start(beeos.Trace{}, "x", Server)
		if span.Trace().IsSampled() != span.IsRecorded() || span.Trace().IsZero() {
			t.Fatalf("%+v", span.Trace())
		}
		if span.IsRecorded() {
			sampled++
		}
	}
	if sampled < 400 || sampled > 600 {
		t.Errorf("%d of 2000", sampled)
	}
	unsampled := beeos.ParseTrace("00-"+callerTrace+"-"+callerSpan+"-00", "")
	if span := tracer.Start(unsampled, "x", Server); span.IsRecorded() || span.Trace().IsSampled() || span.Trace().ID() != callerTrace {
		t.Errorf("%+v", span.Trace())
	}
	tracer.Emit(&Record{Parent: unsampled, ID: callerSpan, Name: "never"})
	tracer.Close()
	for _, s := range receiver.All() {
		if s.Trace == callerTrace {
			t.Errorf("%+v", s)
		}
	}
}

func TestOriginIsKept(t *testing.T) {
	for _, o := range []Origin{
		{},
		{Trace: caller},
		{Trace: beeos.Trace{Parent: caller.Parent}},
		{Trace: caller, Spans: true},
		{Trace: caller, Spans: true, Node: "node-1"},
		{Trace: caller, Spans: true, Node: "node-1", Outer: callerSpan},
		{Trace: beeos.Trace{Parent: caller.Parent, State: "a=x y,b=;"}, Spans: true, Outer: callerSpan},
	} {
		if diff := cmp.Diff(o, ParseOrigin(o.String())); diff != "" {
			t.Errorf("%q: %s", o, diff)
		}
	}
	for _, bad := range []string{"x", "00-0-0-0", strings.Repeat("0", 55)} {
		if o := ParseOrigin(bad); !o.IsZero() || o.Spans {
			t.Errorf("%q: %+v", bad, o)
		}
	}
	passed, made := Origin{Trace: caller}, Origin{Trace: caller, Spans: true}
	if passed.At("r1") != caller || passed.AtAttempt("r1", 2) != caller {
		t.Error("a trace that is passed on changes on the way")
	}
	if made.At("r1").Span() != RequestSpan("r1") || made.AtAttempt("r1", 2).Span() != AttemptSpan("r1", 2) || AttemptSpan("r1", 2) == AttemptSpan("r1", 1) {
		t.Error("ids of spans do not follow from the request")
	}
}

// TestOffCostsNothing: nothing is allocated where nobody wants spans.
func TestOffCostsNothing(t *testing.T) {
	var tracer *Tracer
	if n := testing.AllocsPerRun(100, func() { useSpan(tracer) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkOff(b *testing.B) {
	var tracer *Tracer
	b.ReportAllocs()
	for b.Loop() {
		useSpan(tracer)
	}
}

// useSpan is what a call does with its span.
func useSpan(tracer *Tracer) {
	span := tracer.Start(beeos.Trace{}, "x", Server)
	if span.IsRecorded() {
		span.Set(Text("a", "b"))
	}
	span.End("", "")
	if o := (Origin{Trace: span.Trace()}); o.String() != "" {
		panic("there is a trace")
	}
}

func BenchmarkSampled(b *testing.B) {
	tracer := openFor(b, "1")
	b.ReportAllocs()
	for b.Loop() {
		benchmarkSpan(tracer)
	}
}

func BenchmarkTenth(b *testing.B) {
	tracer := openFor(b, "0.1")
	b.ReportAllocs()
	for b.Loop() {
		benchmarkSpan(tracer)
	}
}

func openFor(b *testing.B, ratio string) *Tracer {
	receiver := otlp.Start(b)
	b.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", receiver.URL)
	b.Setenv("OTEL_TRACES_SAMPLER", "parentbased_traceidratio")
	b.Setenv("OTEL_TRACES_SAMPLER_ARG", ratio)
	tracer, err := Open(b.Context(), "node-1", quiet)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(tracer.Close)
	return tracer
}

func benchmarkSpan(tracer *Tracer) {
	e := Entry{Surface: "mcp", Method: "tools/call", Target: "search", RPCID: []byte(`"7"`), Revision: "2025-11-25", Session: "ch-1"}
	span := tracer.Start(beeos.Trace{}, e.Name(), Server)
	if span.IsRecorded() {
		span.Set(e.Attrs()...)
	}
	span.End("", "")
}

// TestWordsOfStrangers: what is too long is cut, and what is no text does not keep
// other spans from being collected.
func TestWordsOfStrangers(t *testing.T) {
	tracer, receiver := open(t)
	span := tracer.Start(caller, "bad \xff", Server)
	span.Set(Text("long", strings.Repeat("x", 10_000)), Text("bad", "\xff\xfe"))
	span.End("", "")
	s := receiver.Await(t, callerTrace, "bad \uFFFD").Span(t, "bad \uFFFD")
	if n := len(s.Attrs["long"]); n > 300 || n < 200 || s.Attrs["bad"] != "\uFFFD" {
		t.Errorf("%+v", s.Attrs)
	}
}
