// Package calltrace makes spans of requests that have ended, out of what the
// ledger knows of them: one over the whole request, one for each attempt at it
// and each wait for a person, and those of the steps that its agent told
// (spans.go). Whoever stores the reply makes them, so they are there, too, when
// the node that took the request was killed long before.
package calltrace

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/ledger"
	"github.com/beeos/beeos/internal/store/approvals"
	"github.com/beeos/beeos/internal/telemetry/trace"
)

const (
	maxQueued  = 4096 // requests whose spans are to be made; beyond, there are none
	maxAtOnce  = 500  // whose approvals are read together
	gatherFor  = 250 * time.Millisecond
	readWithin = 5 * time.Second
)

// Options are what spans are made of.
type Options struct {
	Tracer    *trace.Tracer // nil = nobody wants any
	Approvals *approvals.Table
	Node      string                                                     // this one's name
	Alive     func(ctx context.Context, node string) bool                // whether another one still runs
	Agent     func(ctx context.Context, id string) (*beeos.Agent, error) // by its id
	Log       *slog.Logger
}

// Maker makes them, in the background.
type Maker struct {
	opt     Options
	queue   chan *ledger.Ended
	dropped atomic.Int64
	done    sync.WaitGroup
}

// Start returns a Maker that runs until Close; nil where nobody wants spans.
func Start(opt Options) *Maker {
	if opt.Tracer == nil {
		return nil
	}
	m := &Maker{opt: opt, queue: make(chan *ledger.Ended, maxQueued)}
	m.done.Go(m.run)
	return m
}

// Take is the ledger's hook. It never blocks.
func (m *Maker) Take(e *ledger.Ended) {
	if o := trace.ParseOrigin(e.Trace); !o.Spans || !o.IsSampled() {
		return
	}
	e.Reply.Body, e.Reply.Parts, e.Reply.Payload = "", nil, nil // no span has them, and many may queue
	select {
	case m.queue <- e:
	default:
		m.dropped.Add(1)
	}
}

// Close makes the spans of what was taken, and ends. Nothing is to be taken any
// more.
func (m *Maker) Close() {
	if m == nil {
		return
	}
	close(m.queue)
	m.done.Wait()
}

func (m *Maker) run() {
	for e := range m.queue {
		m.emitAll(m.gather(e))
		if n := m.dropped.Swap(0); n > 0 {
			m.opt.Log.Warn("calls have no spans: too many ended at once; sample fewer with OTEL_TRACES_SAMPLER", "calls", n)
		}
	}
}

// gather takes what else comes within a moment: one look at the approvals for many
// requests costs little, one for each as much as all of their spans.
func (m *Maker) gather(first *ledger.Ended) []*ledger.Ended {
	some, late := []*ledger.Ended{first}, time.After(gatherFor)
	for len(some) < maxAtOnce {
		select {
		case e, more := <-m.queue:
			if !more {
				return some
			}
			some = append(some, e)
		case <-late:
			return some
		}
	}
	return some
}

// emitAll makes the spans of some requests.
func (m *Maker) emitAll(some []*ledger.Ended) {
	ctx, cancel := context.WithTimeout(context.Background(), readWithin)
	defer cancel()
	var turns []string
	for _, e := range some {
		turns = append(turns, e.Turn)
	}
	asked, err := m.opt.Approvals.ListByTurns(ctx, turns)
	if err != nil {
		m.opt.Log.Warn("spans are made without the approvals that were waited for", "err", err)
	}
	byTurn := map[string][]approvals.Approval{}
	for _, a := range asked {
		byTurn[a.Turn] = append(byTurn[a.Turn], a)
	}
	alive := map[string]bool{"": true, m.opt.Node: true}
	for _, e := range some {
		r := request{m: m, Ended: e, origin: trace.ParseOrigin(e.Trace)}
		node := r.origin.Node
		if _, known := alive[node]; !known {
			alive[node] = m.opt.Alive(ctx, node)
		}
		r.emit(ctx, alive[node], byTurn[e.Turn])
	}
}
