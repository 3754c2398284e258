package trace

import (
	"compress/gzip"
	"context"
	"encoding/hex"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/beeos/beeos/test/otlp"
)

// oneSpan is what the tests send.
var oneSpan = []*tracepb.ResourceSpans{{ScopeSpans: []*tracepb.ScopeSpans{{Spans: []*tracepb.Span{{Name: "x", TraceId: []byte("one trace of ours"[:16]), SpanId: []byte("one span")}}}}}}

// upload sends a span to a collector, with variables like OTEL_EXPORTER_OTLP_GZIP
// set by the last part of their names.
func upload(t *testing.T, ctx context.Context, env map[string]string) error {
	t.Helper()
	for name, value := range env {
		t.Setenv(allSignals+name, value)
	}
	s, err := readCollectorSettings()
	if err != nil {
		t.Fatal(err)
	}
	c := newCollectorClient(s)
	defer c.Stop(ctx) //nolint:errcheck // never fails
	return c.UploadTraces(ctx, oneSpan)
}

// TestSpansAreCompressed: over both protocols, as the standard variable says.
func TestSpansAreCompressed(t *testing.T) {
	for protocol, start := range map[string]func(testing.TB) *otlp.Receiver{"http/protobuf": startUnzipping, "grpc": otlp.StartGRPC} {
		t.Run(protocol, func(t *testing.T) {
			receiver := start(t)
			if err := upload(t, t.Context(), map[string]string{envEndpoint: receiver.URL, envProtocol: protocol, envCompression: "gzip"}); err != nil {
				t.Fatal(err)
			}
			receiver.Await(t, hex.EncodeToString(oneSpan[0].ScopeSpans[0].Spans[0].TraceId), "x")
		})
	}
}

// startUnzipping is a receiver behind a server that insists on compression.
func startUnzipping(t testing.TB) *otlp.Receiver {
	t.Helper()
	receiver := otlp.Start(t)
	behind := receiver.URL
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		plain, err := gzip.NewReader(r.Body)
		if err != nil || r.Header.Get("Content-Encoding") != "gzip" {
			http.Error(w, "not compressed", http.StatusBadRequest)
			return
		}
		req, _ := http.NewRequestWithContext(r.Context(), r.Method, behind+r.URL.Path, plain)
		req.Header.Set("Content-Type", r.Header.Get("Content-Type"))
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		defer res.Body.Close()
		w.WriteHeader(res.StatusCode)
		_, _ = io.Copy(w, res.Body)
	}))
	t.Cleanup(front.Close)
	receiver.URL = front.URL
	return receiver
}

// TestBusyCollectorIsAskedAgain: what it might take later is sent until it does;
// what it will never take is not.
func TestBusyCollectorIsAskedAgain(t *testing.T) {
	var asked atomic.Int32
	collector := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var sent tracepb.TracesData
		if err != nil || proto.Unmarshal(body, &sent) != nil || len(sent.GetResourceSpans()) != 1 || r.Header.Get("Api-Key") != "a b" {
			http.Error(w, "not what was to be sent", http.StatusBadRequest)
			return
		}
		if asked.Add(1) < 3 {
			http.Error(w, "busy", http.StatusServiceUnavailable)
		}
	}))
	t.Cleanup(collector.Close)
	env := map[string]string{envEndpoint: collector.URL, envHeaders: "api-key=a%20b, other=1"}
	if err := upload(t, t.Context(), env); err != nil || asked.Load() != 3 {
		t.Fatalf("%v after %d times", err, asked.Load())
	}
	env[envHeaders] = "api-key=wrong"
	if err := upload(t, t.Context(), env); err == nil || !strings.Contains(err.Error(), "400") || asked.Load() != 3 {
		t.Errorf("%v after %d times", err, asked.Load())
	}
	asked.Store(-1000)
	env[envHeaders] = "api-key=a%20b"
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := upload(t, ctx, env); err == nil || !strings.Contains(err.Error(), "503") {
		t.Errorf("the reason is lost: %v", err)
	}
}

// TestRefusedSpansAreTold: a collector may take some and refuse others.
func TestRefusedSpansAreTold(t *testing.T) {
	collector := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("\x0a\x0b\x08\x02\x12\x07too old"))
	}))
	t.Cleanup(collector.Close)
	if err := upload(t, t.Context(), map[string]string{envEndpoint: collector.URL}); err == nil || !strings.Contains(err.Error(), "2 spans: too old") {
		t.Error(err)
	}
	for _, odd := range []string{"", "\x00", "\xff\xff\xff\xff\xff", "\x0a\x05\x08", "\x10\x01"} {
		if err := partialSuccess([]byte(odd)); err != nil {
			t.Errorf("%q: %v", odd, err)
		}
	}
}

// TestCollectorWithItsOwnAuthority: as the variable names it, over TLS and HTTP/2.
func TestCollectorWithItsOwnAuthority(t *testing.T) {
	var proto atomic.Value
	collector := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { proto.Store(r.Proto) }))
	collector.EnableHTTP2 = true
	collector.StartTLS()
	t.Cleanup(collector.Close)
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: collector.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := upload(t, t.Context(), map[string]string{envEndpoint: collector.URL, envCertificate: file}); err != nil || proto.Load() != "HTTP/2.0" {
		t.Errorf("%v, %v", err, proto.Load())
	}
}

// TestCollectorSettings: which address follows from which variables, and that what
// makes no sense is refused without saying what a header holds.
func TestCollectorSettings(t *testing.T) {
	for name, c := range map[string]struct {
		env   map[string]string
		url   string
		wrong string
	}{
		"nothing":           {url: "http://localhost:4318/v1/traces"},
		"gRPC":              {env: map[string]string{"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, url: "http://localhost:4317" + grpcPath},
		"a base":            {env: map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "https://c.example/otlp/"}, url: "https://c.example/otlp/v1/traces"},
		"one for traces":    {env: map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://b", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://c/x"}, url: "http://c/x"},
		"without a path":    {env: map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://c:1"}, url: "http://c:1/"},
		"gRPC's own":        {env: map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "c:4317", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, url: "https://c:4317" + grpcPath},
		"without TLS":       {env: map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "c:4317", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc", "OTEL_EXPORTER_OTLP_INSECURE": "true"}, url: "http://c:4317" + grpcPath},
		"another scheme":    {env: map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "unix:///x"}, wrong: "http://localhost:4318"},
		"a time":            {env: map[string]string{"OTEL_EXPORTER_OTLP_TIMEOUT": "10s"}, wrong: "milliseconds"},
		"a compression":     {env: map[string]string{"OTEL_EXPORTER_OTLP_COMPRESSION": "zstd"}, wrong: "gzip or none"},
		"headers":           {env: map[string]string{"OTEL_EXPORTER_OTLP_HEADERS": "hunter2"}, wrong: "name=value"},
		"no such authority": {env: map[string]string{"OTEL_EXPORTER_OTLP_CERTIFICATE": "/nowhere.pem"}, wrong: "OTEL_EXPORTER_OTLP_CERTIFICATE"},
		"a key alone":       {env: map[string]string{"OTEL_EXPORTER_OTLP_CLIENT_KEY": "/nowhere.pem"}, wrong: "and its key"},
	} {
		t.Run(name, func(t *testing.T) {
			for k, v := range c.env {
				t.Setenv(k, v)
			}
			s, err := readCollectorSettings()
			switch {
			case c.wrong == "" && (err != nil || s.url != c.url || s.timeout != defaultTimeout):
				t.Errorf("%+v, %v", s, err)
			case c.wrong != "" && (err == nil || !strings.Contains(err.Error(), c.wrong) || strings.Contains(err.Error(), "hunter2")):
				t.Error(err)
			}
		})
	}
}
