package main

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
)

// traces compares a server that sends the traces of one call in ten with one that
// sends none. Who takes them only reads them: a collector stands elsewhere.
func traces(ctx context.Context, s settings) (string, error) {
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body) //nolint:errcheck // whoever sends it notices
	}))
	defer collector.Close()
	traced := []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + collector.URL, "OTEL_TRACES_SAMPLER=parentbased_traceidratio", "OTEL_TRACES_SAMPLER_ARG=0.1"}
	var rigs []rig
	for _, env := range [][]string{traced, nil} {
		b, id, stop, err := startServer(ctx, s.server, "fsync", 0, env...)
		if err != nil {
			return "", err
		}
		defer stop()
		rigs = append(rigs, rig{"a server", b.callTarget(id), b.process})
	}
	return comparePairs(ctx, s, rigs)
}
