// Package otlp is a collector of spans for tests: it takes what an OTLP exporter
// sends, over HTTP or gRPC, and is asked for whole traces (spans.go). A real
// collector can take its place (collector.go).
package otlp

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/grpc"
	_ "google.golang.org/grpc/encoding/gzip" // what may come compressed
	"google.golang.org/protobuf/proto"
)

// Receiver is where spans go.
type Receiver struct {
	URL string // for OTEL_EXPORTER_OTLP_ENDPOINT

	mu    sync.Mutex
	spans []Span
	more  chan struct{} // closed when spans have come
}

// Start runs a receiver until the test ends.
func Start(t testing.TB) *Receiver {
	t.Helper()
	r := &Receiver{more: make(chan struct{})}
	if r.startCollector(t, false) {
		return r
	}
	server := httptest.NewServer(http.HandlerFunc(r.take))
	t.Cleanup(server.Close)
	r.URL = server.URL
	return r
}

// Use has this process send its spans to r, soon after they end.
func (r *Receiver) Use(t testing.TB) {
	t.Helper()
	for name, value := range r.Env() {
		t.Setenv(name, value)
	}
}

// Env are the variables that have a process send its spans to r.
func (r *Receiver) Env() map[string]string {
	return map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": r.URL, "OTEL_BSP_SCHEDULE_DELAY": "50"}
}

func (r *Receiver) take(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	var sent collector.ExportTraceServiceRequest
	if err == nil {
		err = proto.Unmarshal(body, &sent)
	}
	if err != nil || req.URL.Path != "/v1/traces" || req.Header.Get("Content-Type") != "application/x-protobuf" {
		http.Error(w, "POST /v1/traces with an ExportTraceServiceRequest", http.StatusBadRequest)
		return
	}
	r.keep(&sent)
	w.Header().Set("Content-Type", "application/x-protobuf")
	_, _ = w.Write(nil) // an empty message: everything was taken
}

// grpcService takes spans over gRPC.
type grpcService struct {
	collector.UnimplementedTraceServiceServer
	r *Receiver
}

func (s grpcService) Export(_ context.Context, sent *collector.ExportTraceServiceRequest) (*collector.ExportTraceServiceResponse, error) {
	s.r.keep(sent)
	return &collector.ExportTraceServiceResponse{}, nil
}

// StartGRPC is Start for spans that come over gRPC.
func StartGRPC(t testing.TB) *Receiver {
	t.Helper()
	r := &Receiver{more: make(chan struct{})}
	if r.startCollector(t, true) {
		return r
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	collector.RegisterTraceServiceServer(server, grpcService{r: r})
	go server.Serve(listener) //nolint:errcheck // ends with the test
	t.Cleanup(server.Stop)
	r.URL = "http://" + listener.Addr().String()
	return r
}

// keep keeps what was sent.
func (r *Receiver) keep(sent *collector.ExportTraceServiceRequest) {
	r.mu.Lock()
	for _, from := range sent.GetResourceSpans() {
		for _, scope := range from.GetScopeSpans() {
			for _, s := range scope.GetSpans() {
				r.spans = append(r.spans, newSpan(s, from.GetResource().GetAttributes()))
			}
		}
	}
	close(r.more)
	r.more = make(chan struct{})
	r.mu.Unlock()
}
