// Package trace makes OpenTelemetry spans of what BeeOS does, and is the only
// package that imports OpenTelemetry. open.go starts it from the standard OTEL_*
// variables; without them there is no Tracer, and the methods of a nil Tracer and
// a nil Span do nothing and cost nothing. origin.go is what is kept of a trace
// with a request, so that it goes on after a crash; conventions.go has all names
// that the conventions for generative AI, MCP and A2A prescribe, since they still
// change. What was said never becomes part of a span.
package trace

import (
	"context"
	"encoding/hex"
	"log/slog"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	otel "go.opentelemetry.io/otel/trace"

	"github.com/beeos/beeos"
)

// Tracer hands spans to whoever collects them. A nil Tracer makes none.
type Tracer struct {
	provider *sdk.TracerProvider
	tracer   otel.Tracer
	log      *slog.Logger
}

// Kind says on which side of a call a span stands.
type Kind = otel.SpanKind

// Kinds of spans.
const (
	Internal = otel.SpanKindInternal
	Server   = otel.SpanKindServer
	Client   = otel.SpanKindClient
)

// Attr is something that a span says about itself: a text, a number or a list.
type Attr = attribute.KeyValue

// Text is an attribute that is a text; an empty one is not sent.
func Text(name, value string) Attr { return attribute.String(name, value) }

// Number is an attribute that is a number.
func Number(name string, value int64) Attr { return attribute.Int64(name, value) }

// List is an attribute that is a list of texts.
func List(name string, values ...string) Attr { return attribute.StringSlice(name, values) }

// Record is a span that is over.
type Record struct {
	Parent     beeos.Trace // what it is part of; only its trace counts for one that begins it
	Root       bool        // it begins the trace
	ID         string      // its own: 16 hexadecimal digits
	Name       string
	Kind       Kind
	Start, End time.Time
	Attrs      []Attr // not to be used again
	Error      string // the error.type of what went wrong; "" = nothing did
	Words      string // what went wrong, for people, if it is ours to tell
}

// Emit hands over a span that was put together after the fact.
func (t *Tracer) Emit(r *Record) {
	if t == nil || !r.Parent.IsSampled() {
		return
	}
	parent, err := parse(r.Parent)
	id, bad := otel.SpanIDFromHex(r.ID)
	if err != nil || bad != nil {
		return
	}
	ctx := context.WithValue(context.Background(), fixedKey{}, fixed{parent.TraceID(), id})
	if !r.Root {
		ctx = otel.ContextWithRemoteSpanContext(ctx, parent)
	}
	_, span := t.tracer.Start(ctx, tidy(r.Name), otel.WithSpanKind(r.Kind), otel.WithTimestamp(r.Start), otel.WithAttributes(said(r.Attrs)...))
	fail(span, r.Error, r.Words)
	span.End(otel.WithTimestamp(latest(r.Start, r.End)))
}

// latest keeps clocks that differ from turning a span around.
func latest(start, end time.Time) time.Time {
	if end.Before(start) {
		return start
	}
	return end
}

func fail(span otel.Span, kind, words string) {
	if kind != "" {
		span.SetAttributes(Text(ErrorType, kind))
		span.SetStatus(codes.Error, words)
	}
}

// maxText bounds a name, and the text of an attribute: some are strangers'.
const maxText = 256

// said is attributes without those that say nothing, and cut where they say too
// much, in the place of what was given: nobody needs that any more.
func said(attrs []Attr) []Attr {
	kept := attrs[:0]
	for _, a := range attrs {
		if a.Value.Type() != attribute.STRING {
			kept = append(kept, a)
		} else if text := a.Value.AsString(); text != "" {
			kept = append(kept, Text(string(a.Key), tidy(text)))
		}
	}
	return kept
}

// tidy is a text that can be sent: one that is no UTF-8 would keep all those from
// being sent that go with it.
func tidy(text string) string {
	return beeos.Shorten(strings.ToValidUTF8(text, "\uFFFD"), maxText)
}

// Span is one under way. That of a nil Tracer is nil.
type Span struct {
	span  otel.Span
	trace beeos.Trace
}

// ofKind are the options of a span of each kind: most spans that begin are of calls
// that nobody looks at, and are to cost little.
var ofKind = map[Kind][]otel.SpanStartOption{
	Internal: {otel.WithSpanKind(Internal)}, Server: {otel.WithSpanKind(Server)}, Client: {otel.WithSpanKind(Client)},
}

// Start begins a span that is part of in, or a trace of its own when that is
// none. Links are other places that it has to do with.
func (t *Tracer) Start(in beeos.Trace, name string, kind Kind, links ...beeos.Trace) *Span {
	if t == nil {
		return nil
	}
	ctx := context.Background()
	if parent, err := parse(in); err == nil {
		ctx = otel.ContextWithRemoteSpanContext(ctx, parent)
	}
	options := ofKind[kind]
	for _, l := range links {
		if other, err := parse(l); err == nil {
			options = append(slices.Clip(options), otel.WithLinks(otel.Link{SpanContext: other}))
		}
	}
	_, span := t.tracer.Start(ctx, tidy(name), options...)
	return &Span{span, placeOf(span.SpanContext())}
}

// placeOf is a place in a trace as the rest of BeeOS has it.
func placeOf(c otel.SpanContext) beeos.Trace {
	id, span := c.TraceID(), c.SpanID()
	b := make([]byte, 0, 55)
	b = hex.AppendEncode(append(b, "00-"...), id[:])
	b = hex.AppendEncode(append(b, '-'), span[:])
	b = hex.AppendEncode(append(b, '-'), []byte{byte(c.TraceFlags())})
	return beeos.Trace{Parent: string(b), State: c.TraceState().String()}
}

// Trace is the place in the trace that the span is.
func (s *Span) Trace() beeos.Trace {
	if s == nil {
		return beeos.Trace{}
	}
	return s.trace
}

// IsRecorded reports whether it is worth telling the span anything.
func (s *Span) IsRecorded() bool { return s != nil && s.span.IsRecording() }

// Set says more about the span. The list is not to be used again.
func (s *Span) Set(attrs ...Attr) {
	if s != nil {
		s.span.SetAttributes(said(attrs)...)
	}
}

// End ends the span, with the error.type of what went wrong and words about it;
// "" = nothing did.
func (s *Span) End(kind, words string) {
	if s == nil {
		return
	}
	fail(s.span, kind, words)
	s.span.End()
}

// parse is a place in a trace as OpenTelemetry has it.
func parse(t beeos.Trace) (otel.SpanContext, error) {
	id, err := otel.TraceIDFromHex(t.ID())
	if err != nil {
		return otel.SpanContext{}, err
	}
	span, err := otel.SpanIDFromHex(t.Span())
	if err != nil {
		return otel.SpanContext{}, err
	}
	state, err := otel.ParseTraceState(t.State)
	if err != nil {
		state = otel.TraceState{} // the trace goes on without
	}
	c := otel.SpanContextConfig{TraceID: id, SpanID: span, TraceState: state, Remote: true}
	if t.IsSampled() {
		c.TraceFlags = otel.FlagsSampled
	}
	return otel.NewSpanContext(c), nil
}

// fixed are the ids that a span is to have.
type fixed struct {
	trace otel.TraceID
	span  otel.SpanID
}

type fixedKey struct{}

// idMaker gives a span the ids that it is to have, or else random ones.
type idMaker struct{}

func (m idMaker) NewIDs(ctx context.Context) (otel.TraceID, otel.SpanID) {
	if f, ok := ctx.Value(fixedKey{}).(fixed); ok {
		return f.trace, f.span
	}
	var id otel.TraceID
	fillRandom(id[:])
	return id, m.NewSpanID(ctx, id)
}

func (idMaker) NewSpanID(ctx context.Context, _ otel.TraceID) otel.SpanID {
	if f, ok := ctx.Value(fixedKey{}).(fixed); ok {
		return f.span
	}
	var id otel.SpanID
	fillRandom(id[:])
	return id
}

// NewSpanID makes the id of a span that is told of later.
func NewSpanID() string {
	var id [8]byte
	fillRandom(id[:])
	return hex.EncodeToString(id[:])
}
