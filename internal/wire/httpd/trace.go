package httpd

import (
	"context"
	"net/http"
	"strings"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/telemetry"
)

// withTrace puts the place in a trace that a client names in its headers into the
// context, for the call that it makes and for the log.
func withTrace(ctx context.Context, h http.Header) context.Context {
	given := h["Traceparent"]
	if len(given) != 1 {
		return ctx
	}
	t := beeos.ParseTrace(given[0], strings.Join(h["Tracestate"], ","))
	if t.IsZero() {
		return ctx
	}
	return telemetry.With(beeos.WithTrace(ctx, t), "trace", t.ID())
}

// NoteTrace has the log line of the request that ctx belongs to name a trace that
// was begun for it.
func NoteTrace(ctx context.Context, id string) {
	if resp := responseOf(ctx); resp != nil && telemetry.Value(ctx, "trace") != id {
		resp.trace.Store(&id) // calls of a stream run side by side
	}
}
