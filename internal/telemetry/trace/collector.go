package trace

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

const (
	firstWait   = time.Second // before spans are sent again
	longestWait = 15 * time.Second
	maxAnswer   = 64 << 10 // of a collector
	grpcPrefix  = 5        // of a gRPC message: is it compressed, how long is it
)

// collectorClient sends spans to a collector by OTLP, over HTTP or gRPC. The
// exporters of OpenTelemetry bring gRPC with its gateway for what is one POST of
// one message, and with it 2.3 MB (ADR 34).
type collectorClient struct {
	collectorSettings

	http *http.Client
}

func newCollectorClient(s collectorSettings) *collectorClient {
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment, TLSClientConfig: s.tls, IdleConnTimeout: time.Minute, Protocols: new(http.Protocols)}
	if s.grpc {
		transport.Protocols.SetHTTP2(true)
		transport.Protocols.SetUnencryptedHTTP2(true)
	} else {
		transport.Protocols.SetHTTP1(true)
		transport.Protocols.SetHTTP2(true)
	}
	// Headers carry the operator's key, so they follow nobody elsewhere.
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &collectorClient{collectorSettings: s, http: &http.Client{Transport: transport, CheckRedirect: stay}}
}

// Start is part of otlptrace.Client: the first spans make the connection.
func (c *collectorClient) Start(context.Context) error { return nil }

// Stop is part of otlptrace.Client.
func (c *collectorClient) Stop(context.Context) error {
	c.http.CloseIdleConnections()
	return nil
}

// UploadTraces sends spans, again and again until ctx ends where the collector
// might take them later.
func (c *collectorClient) UploadTraces(ctx context.Context, spans []*tracepb.ResourceSpans) error {
	// TracesData is written like an ExportTraceServiceRequest, whose package
	// would bring gRPC.
	message, err := proto.Marshal(&tracepb.TracesData{ResourceSpans: spans})
	if err != nil {
		return err
	}
	if message, err = c.wrap(message); err != nil {
		return err
	}
	for wait := firstWait; ; wait = min(2*wait, longestWait) {
		err := c.send(ctx, message)
		var later *tryLater
		if !errors.As(err, &later) {
			return err
		}
		select {
		case <-time.After(max(later.after, wait/2+rand.N(wait/2))):
		case <-ctx.Done():
			return err
		}
	}
}

// wrap compresses a message if that is wanted, and frames it for gRPC.
func (c *collectorClient) wrap(message []byte) ([]byte, error) {
	var out bytes.Buffer
	if c.grpc {
		out.Write(make([]byte, grpcPrefix))
	}
	if c.gzip {
		z := gzip.NewWriter(&out)
		if _, err := z.Write(message); err != nil {
			return nil, err
		}
		if err := z.Close(); err != nil {
			return nil, err
		}
	} else {
		out.Write(message)
	}
	wrapped := out.Bytes()
	if c.grpc {
		if c.gzip {
			wrapped[0] = 1
		}
		binary.BigEndian.PutUint32(wrapped[1:], uint32(len(wrapped)-grpcPrefix)) //nolint:gosec // batches are small
	}
	return wrapped, nil
}

// tryLater is what the collector, or the way to it, may do better later.
type tryLater struct {
	err   error
	after time.Duration // as the collector says
}

func (e *tryLater) Error() string { return e.err.Error() }
func (e *tryLater) Unwrap() error { return e.err }

// send makes one attempt.
func (c *collectorClient) send(ctx context.Context, message []byte) error {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(message))
	if err != nil {
		return err
	}
	for name, value := range c.headers {
		req.Header.Set(name, value)
	}
	switch {
	case c.grpc:
		req.Header.Set("Content-Type", "application/grpc+proto")
		req.Header.Set("TE", "trailers")
		if c.gzip {
			req.Header.Set("Grpc-Encoding", "gzip")
		}
	default:
		req.Header.Set("Content-Type", "application/x-protobuf")
		if c.gzip {
			req.Header.Set("Content-Encoding", "gzip")
		}
	}
	res, err := c.http.Do(req)
	if err != nil {
		return &tryLater{err: err}
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil {
		return &tryLater{err: err}
	}
	if err := c.refusal(res); err != nil {
		return err
	}
	if c.grpc {
		answer = answer[min(grpcPrefix, len(answer)):]
	}
	return partialSuccess(answer)
}

// refusal returns why a collector did not take a message; nil if it did.
func (c *collectorClient) refusal(res *http.Response) error {
	if res.StatusCode != http.StatusOK {
		err := fmt.Errorf("the collector answered %s", res.Status)
		switch res.StatusCode {
		case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
			seconds, _ := strconv.Atoi(res.Header.Get("Retry-After"))
			return &tryLater{err: err, after: time.Duration(seconds) * time.Second}
		}
		return err
	}
	if !c.grpc {
		return nil
	}
	status, words := res.Trailer.Get("Grpc-Status"), res.Trailer.Get("Grpc-Message")
	if status == "" { // there was nothing but a header
		status, words = res.Header.Get("Grpc-Status"), res.Header.Get("Grpc-Message")
	}
	err := fmt.Errorf("the collector answered with gRPC status %q: %s", status, words)
	switch status {
	case "0":
		return nil
	case "1", "4", "8", "10", "11", "14", "15": // those that OTLP names as worth a repeat
		return &tryLater{err: err}
	}
	return err
}

// partialSuccess tells of spans that a collector refused among those that it took.
// An answer is an ExportTraceServiceResponse: field 1 has a count (1) and words (2).
func partialSuccess(answer []byte) error {
	fields := map[protowire.Number]func([]byte) int{}
	var rejected uint64
	var words []byte
	fields[1] = func(b []byte) (n int) { rejected, n = protowire.ConsumeVarint(b); return n }
	fields[2] = func(b []byte) (n int) { words, n = protowire.ConsumeBytes(b); return n }
	readFields(answer, map[protowire.Number]func([]byte) int{1: func(b []byte) int {
		partial, n := protowire.ConsumeBytes(b)
		readFields(partial, fields)
		return n
	}})
	if rejected == 0 {
		return nil
	}
	return fmt.Errorf("the collector refused %d spans: %s", rejected, words)
}

// readFields hands the values of a message to whoever reads them, until one makes
// no sense.
func readFields(message []byte, readers map[protowire.Number]func([]byte) int) {
	for len(message) > 0 {
		number, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return
		}
		message = message[n:]
		read := readers[number]
		if read == nil {
			read = func(b []byte) int { return protowire.ConsumeFieldValue(number, kind, b) }
		}
		if n = read(message); n < 0 {
			return
		}
		message = message[n:]
	}
}
