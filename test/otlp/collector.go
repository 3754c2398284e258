package otlp

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"os"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/beeos/beeos/test/ports"
	"github.com/beeos/beeos/test/program"
)

// CollectorVar names a program that Start and StartGRPC run instead of a receiver of
// their own: test/collector, which is OpenTelemetry's.
const CollectorVar = "BEEOS_TEST_COLLECTOR"

// startCollector runs a collector until the test ends; its spans are read off what
// it writes. There is none if nobody has named one.
func (r *Receiver) startCollector(t testing.TB, grpc bool) (started bool) {
	t.Helper()
	path := os.Getenv(CollectorVar)
	if path == "" {
		return false
	}
	overHTTP, overGRPC := ports.Addr(t), ports.Addr(t)
	p, err := program.Start("collector", []string{"PATH=" + os.Getenv("PATH")}, path, "-http", overHTTP, "-grpc", overGRPC)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	if _, err := p.Err.Await(ctx, func(line string) bool { return line == "ready" }); err != nil {
		t.Fatalf("the collector: %v\n%s", err, p.Text())
	}
	go p.Out.Await(context.Background(), func(line string) bool { //nolint:errcheck // it ends with the collector
		r.keepJSON(t, line)
		return false
	})
	if r.URL = "http://" + overHTTP; grpc {
		r.URL = "http://" + overGRPC
	}
	return true
}

// keepJSON keeps what a line of OTLP's JSON says.
func (r *Receiver) keepJSON(t testing.TB, line string) {
	var sent collector.ExportTraceServiceRequest
	if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal([]byte(line), &sent); err != nil {
		t.Errorf("the collector wrote %q: %v", line, err)
		return
	}
	for _, from := range sent.GetResourceSpans() {
		for _, scope := range from.GetScopeSpans() {
			for _, s := range scope.GetSpans() {
				s.TraceId, s.SpanId, s.ParentSpanId = readHex(s.TraceId), readHex(s.SpanId), readHex(s.ParentSpanId)
				for _, l := range s.GetLinks() {
					l.TraceId, l.SpanId = readHex(l.TraceId), readHex(l.SpanId)
				}
			}
		}
	}
	r.keep(&sent)
}

// readHex is an id that was read as protobuf's JSON has it, in base64: OTLP's JSON
// has ids in hex.
func readHex(id []byte) []byte {
	read, err := hex.DecodeString(base64.StdEncoding.EncodeToString(id))
	if err != nil {
		return id
	}
	return read
}
