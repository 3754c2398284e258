package app

import (
	"context"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/calltrace"
	"github.com/beeos/beeos/internal/telemetry/trace"
)

// openTracer starts what the OTEL_* variables ask for: most often, nothing. It is
// the last to be taken down, after everything that has spans to tell.
func (p *parts) openTracer(ctx context.Context) (err error) {
	p.tracer, err = trace.Open(ctx, p.node, p.log)
	p.closers = append(p.closers, p.tracer.Close)
	return err
}

// openSpans makes the spans of calls that have ended, and announces this node to
// others that make them: of a node that is gone they know that its spans are, too.
func (p *parts) openSpans() error {
	if p.tracer == nil {
		return nil
	}
	stop, err := p.bus.Announce(p.bus.NodeName())
	if err != nil {
		return err
	}
	p.spans = calltrace.Start(calltrace.Options{
		Tracer: p.tracer, Approvals: p.db.Approvals, Node: p.bus.NodeName(), Alive: p.bus.Connected, Log: p.log,
		Agent: func(ctx context.Context, id string) (*beeos.Agent, error) { return p.calls.Agent(ctx, id) },
	})
	p.closers = append(p.closers, p.spans.Close, stop)
	return nil
}
