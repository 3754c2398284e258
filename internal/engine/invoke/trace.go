package invoke

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/ledger"
	"github.com/beeos/beeos/internal/telemetry"
	"github.com/beeos/beeos/internal/telemetry/trace"
)

// surfaceAgent is where calls of agents by agents come from: the attempt that
// makes one is their caller, and has a span.
const surfaceAgent = "agent"

// startSpan begins the span of a caller's request, and settles where in a trace
// the request is stored to stand. Without a Tracer the caller's trace is passed
// on as it came, if there is one. The span is nil where nobody looks at it.
func (c *Calls) startSpan(ctx context.Context, r *Request) (context.Context, *trace.Span) {
	in := beeos.TraceOf(ctx)
	switch {
	case c.opt.Tracer == nil && in.IsZero():
		return ctx, nil
	case c.opt.Tracer == nil:
		r.origin = trace.Origin{Trace: in}.String()
		return ctx, nil
	case r.Surface == surfaceAgent:
		r.origin = trace.Origin{Trace: in, Spans: in.IsSampled()}.String()
		return ctx, nil
	}
	return c.beginSpan(ctx, r, in)
}

//go:noinline
func (c *Calls) beginSpan(ctx context.Context, r *Request, in beeos.Trace) (context.Context, *trace.Span) {
	e := r.entry()
	span := c.opt.Tracer.Start(in, e.Name(), trace.Server, r.Entry.Link)
	at := span.Trace()
	if !span.IsRecorded() {
		if r.passed = at.Parent; !in.IsZero() {
			r.origin = trace.Origin{Trace: at}.String()
		}
		return ctx, nil // nothing is to be told, so nobody puts together what
	}
	c.opt.OnTrace(ctx, at.ID())
	span.Set(append(e.Attrs(), trace.Text(trace.AgentID, r.Agent.ID), trace.Text(trace.AgentName, r.Agent.Name))...)
	r.origin = trace.Origin{Trace: at, Spans: true, Node: c.opt.Bus.NodeName(), Outer: in.Span()}.String()
	return telemetry.With(beeos.WithTrace(ctx, at), "trace", at.ID()), span
}

// entry is the caller's request as the conventions know it.
func (r *Request) entry() trace.Entry {
	return trace.Entry{
		Surface: r.Surface, Method: r.Entry.Method, Target: r.Entry.Target, RPCID: r.Entry.RPCID, Revision: r.Call.Revision,
		Session: strings.TrimPrefix(r.SessionID, "session "), Message: r.Call.Metadata[MetaA2AMessage],
	}
}

// isTraced reports whether a call has to do with traces at all.
func (c *Calls) isTraced(ctx context.Context) bool {
	return c.opt.Tracer != nil || !beeos.TraceOf(ctx).IsZero()
}

// runTraced is runCall within the span of its caller's request.
func (c *Calls) runTraced(ctx context.Context, r *Request, yield func(*beeos.Event) bool) error {
	ctx, span := c.startSpan(ctx, r)
	if span == nil {
		return c.runCall(ctx, r, yield)
	}
	var last *beeos.Event
	err := c.runCall(ctx, r, func(ev *beeos.Event) bool {
		if ev.Message != nil {
			last = ev
		}
		return yield(ev)
	})
	c.endSpan(span, r, nil, last, err)
	return err
}

// endSpan ends the span of a caller's request: stored is what became of it, last
// how it ended, as far as either is known.
func (c *Calls) endSpan(span *trace.Span, r *Request, stored *turn, last *beeos.Event, err error) {
	if span == nil {
		return
	}
	e := r.entry()
	id, channel, replayed := r.TurnID, r.ChannelID(), false
	var reply *beeos.Message
	if stored != nil {
		id, channel, replayed, reply = stored.id, stored.channel, stored.repeat, stored.done
	}
	if last != nil {
		id, channel, replayed, reply = last.Turn, last.Channel, last.Replayed, last.Message
	}
	if id != "" {
		span.Set(e.TaskAttr(id), trace.Text(trace.RequestID, id), trace.Text(trace.ConversationID, channel))
	}
	if replayed {
		span.Set(trace.Text(trace.Replayed, "true"))
	}
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, errReaderLeft): // it may come back, or was given a task instead
		span.Set(trace.Text(trace.Outcome, outcomeLeft))
		span.End("", "")
	case err != nil: // without its words, which may repeat the caller's
		span.End(string(beeos.CodeOf(err)), "")
	case reply != nil && reply.IsError():
		span.End(e.FailedReply(reply.Type), "")
	default:
		span.End("", "")
	}
}

// logContext is ctx with the trace of a request, for the log.
func logContext(ctx context.Context, origin string) context.Context {
	if origin == "" {
		return ctx
	}
	return telemetry.With(ctx, "trace", trace.ParseOrigin(origin).ID())
}

// appendTrace adds to the frame of an attempt its place in the trace.
func appendTrace(b []byte, d *ledger.Delivery) []byte {
	o := trace.ParseOrigin(d.Trace)
	t := o.AtAttempt(d.Turn, d.Attempt)
	if t.IsZero() {
		return b
	}
	b = append(append(append(b, `,"traceparent":"`...), t.Parent...), '"')
	if t.State != "" {
		state, _ := json.Marshal(t.State) // a string always encodes
		b = append(append(b, `,"tracestate":`...), state...)
	}
	if o.Spans {
		b = append(b, `,"spans":true`...)
	}
	return b
}
