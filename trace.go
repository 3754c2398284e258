package beeos

import (
	"context"
	"strings"
)

// Trace is a place in a distributed trace, as W3C Trace Context writes it: which
// trace, and which span of it what comes next is part of. The zero Trace is none.
// Baggage, which may travel beside it, is not passed on: it is data of the
// caller's program, may say anything, and agents and servers of others would get
// to read it.
type Trace struct {
	Parent string // traceparent: 00-<32 digits of the trace>-<16 of the span>-<flags>
	State  string // tracestate: what tracing systems want to know again; may be empty
}

const (
	parentLength = 55
	traceStart   = 3
	spanStart    = 36
	flagsStart   = 53
	maxState     = 512 // bytes of a tracestate; a longer one is not kept

	noTrace = "00000000000000000000000000000000"
)

// ParseTrace reads a traceparent and a tracestate of somebody else's. What is
// malformed is as if it were not there.
func ParseTrace(parent, state string) Trace {
	if len(parent) > parentLength && parent[parentLength] == '-' && parent[:2] != "00" {
		parent = parent[:parentLength] // of a later version; what it adds is not for us
	}
	if len(parent) != parentLength || parent[2] != '-' || parent[spanStart-1] != '-' || parent[flagsStart-1] != '-' || parent[:2] == "ff" {
		return Trace{}
	}
	id, span, flags := parent[traceStart:spanStart-1], parent[spanStart:flagsStart-1], parent[flagsStart:]
	if !isHex(parent[:2]) || !isHex(id) || !isHex(span) || !isHex(flags) || id == noTrace || span == noTrace[:len(span)] {
		return Trace{}
	}
	if parent[:2] != "00" {
		parent = "00" + parent[2:]
	}
	return Trace{parent, tidyState(state)}
}

func isHex(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// tidyState is a tracestate that can stand in a header; "" = it cannot.
func tidyState(state string) string {
	if len(state) > maxState {
		return ""
	}
	for i := range len(state) {
		if c := state[i]; c != '\t' && (c < ' ' || c > '~') {
			return ""
		}
	}
	return strings.TrimSpace(strings.ReplaceAll(state, "\t", " "))
}

// IsZero reports whether there is no trace.
func (t Trace) IsZero() bool { return t.Parent == "" }

// ID names the trace: 32 hexadecimal digits, or "" when there is none.
func (t Trace) ID() string {
	if t.IsZero() {
		return ""
	}
	return t.Parent[traceStart : spanStart-1]
}

// Span names the span that what comes next is part of: 16 hexadecimal digits, or
// "" when there is no trace.
func (t Trace) Span() string {
	if t.IsZero() {
		return ""
	}
	return t.Parent[spanStart : flagsStart-1]
}

// IsSampled reports whether somebody looks at the trace.
func (t Trace) IsSampled() bool {
	if t.IsZero() {
		return false
	}
	c := t.Parent[flagsStart+1]
	if c >= 'a' {
		c -= 'a' - 10
	}
	return c&1 == 1
}

// At is the same trace at another of its spans. Without a trace there is none.
func (t Trace) At(span string) Trace {
	if t.IsZero() || len(span) != flagsStart-1-spanStart {
		return t
	}
	return Trace{t.Parent[:spanStart] + span + t.Parent[flagsStart-1:], t.State}
}

// traceContext is a context with a place in a trace.
type traceContext struct {
	context.Context
	trace Trace
}

type traceKey struct{}

func (c *traceContext) Value(key any) any {
	if key == (traceKey{}) {
		return c
	}
	return c.Context.Value(key)
}

// WithTrace is ctx at a place in a trace. HTTP requests that BeeOS makes with it
// say so in their headers.
func WithTrace(ctx context.Context, t Trace) context.Context {
	if t.IsZero() {
		return ctx
	}
	return &traceContext{ctx, t}
}

// TraceOf is the place in a trace that ctx has; the zero Trace when it has none.
func TraceOf(ctx context.Context) Trace {
	if c, ok := ctx.Value(traceKey{}).(*traceContext); ok {
		return c.trace
	}
	return Trace{}
}
