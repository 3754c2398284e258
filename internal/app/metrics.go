package app

import (
	"context"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/blob"
	"github.com/beeos/beeos/internal/engine/ledger"
	"github.com/beeos/beeos/internal/telemetry"
)

// onCall counts a call that somebody waited for.
func (p *parts) onCall(r CallRecord) {
	outcome := r.Outcome
	if outcome == string(beeos.AgentReplyError) || outcome == string(beeos.AgentRefuse) || outcome == string(beeos.AgentBusy) {
		outcome = "agent_error"
	}
	p.metrics.Call(r.Surface, r.Method, outcome, r.Took)
	if p.opt.OnCall != nil {
		p.opt.OnCall(r)
	}
}

// countLedger has the ledger say what it does.
func (p *parts) countLedger() ledger.Options {
	return ledger.Options{
		Commit:      p.metrics.Commit,
		Ended:       p.countEnded,
		Lost:        func(why beeos.AttemptEnd, n int) { p.metrics.Lost(string(why), n) },
		Redelivered: p.metrics.Redelivered,
	}
}

// countEnded counts requests that have ended and what their answers took, for metrics
// and for charts, and has spans made of those that are part of a trace.
func (p *parts) countEnded(list []ledger.Ended) {
	p.series.Count(list)
	for i := range list {
		e := &list[i]
		p.metrics.Ended(e.Route.AgentID, e.Route.Tool, e.Route.Surface, e.Outcome.String(), e.Outcome.IsProblem(), e.Took())
		if p.spans != nil && e.Trace != "" {
			p.spans.Take(e)
		}
		for _, u := range e.Usage {
			p.metrics.Tokens(u.Model, u.Input, u.Output)
			p.metrics.Money(u.Micros)
		}
	}
}

// countBlobs has a place for files say what is asked of it.
func (p *parts) countBlobs(place blob.Store) blob.Store {
	return &blob.Counted{Store: place, Done: p.metrics.Blob, Moved: p.metrics.BlobBytes}
}

// openMetrics adds what is read when the page is.
func (p *parts) openMetrics(context.Context) error {
	m := p.metrics
	m.Build(beeos.Version)
	m.Database(p.db.DB.DB, "beeos")
	m.NameAgents(p.db.Agents.ListNames)
	m.Gauge("calls_waiting", "Calls that somebody waits for. Of this node.", func() float64 { return float64(p.calls.CountWaiting()) })
	m.Gauge("bus_connected", "1 while this node is connected to the bus. Of this node.", func() float64 {
		if p.bus.Stats().Connected {
			return 1
		}
		return 0
	})
	m.Gauge("bus_pending", "Messages of other nodes that have arrived and wait to be read. Of this node.", func() float64 { return float64(p.bus.Stats().Pending) })
	m.Counter("bus_slow_consumers_total", "Times that a reader of the bus did not keep up and messages were dropped; what they said is read from the database later. Of this node.", func() float64 { return float64(p.bus.Stats().SlowConsumers) })
	m.Counter("bus_reconnects_total", "Times that the connection to the bus was made again. Of this node.", func() float64 { return float64(p.bus.Stats().Reconnects) })
	m.Counter("bus_received_total", "Messages that came from the bus. Of this node.", func() float64 { return float64(p.bus.Stats().In) })
	m.Counter("bus_sent_total", "Messages that went to the bus. Of this node.", func() float64 { return float64(p.bus.Stats().Out) })
	for _, r := range p.readings() {
		m.AddReading(r)
	}
	return nil
}

// readings are the values that all nodes see alike: they are in the database.
func (p *parts) readings() []telemetry.Reading {
	return []telemetry.Reading{
		{
			What: "requests",
			Values: []telemetry.Family{
				{Name: "requests_waiting", Help: "Requests that no instance of their agent has taken. Of the whole cluster: every node shows the same."},
				{Name: "oldest_waiting_seconds", Help: "Age of the oldest of beeos_requests_waiting; 0 = none waits. Of the whole cluster: every node shows the same."},
				{Name: "requests_in_flight", Help: "Requests that an instance works on. Of the whole cluster: every node shows the same."},
			},
			Read: func(ctx context.Context) ([]float64, error) {
				load, err := p.ledger.Load(ctx)
				return []float64{float64(load.Waiting), load.Oldest.Seconds(), float64(load.InFlight)}, err
			},
		},
		{
			What: "approvals",
			Values: []telemetry.Family{
				{Name: "approvals_waiting", Help: "Tool calls that wait for a person. Of the whole cluster: every node shows the same."},
				{Name: "oldest_approval_seconds", Help: "How long the oldest of beeos_approvals_waiting has waited; 0 = none waits. Of the whole cluster: every node shows the same."},
			},
			Read: func(ctx context.Context) ([]float64, error) {
				waiting, since, err := p.db.Approvals.CountWaiting(ctx)
				return []float64{float64(waiting), secondsSince(since)}, err
			},
		},
		{
			What: "webhooks",
			Values: []telemetry.Family{
				{Name: "webhook_backlog", Help: "Deliveries to webhooks and notification channels that are still to be sent, retries included. Of the whole cluster: every node shows the same."},
				{Name: "webhook_overdue_seconds", Help: "For how long the first of beeos_webhook_backlog has been due; 0 = none is. Of the whole cluster: every node shows the same."},
			},
			Read: func(ctx context.Context) ([]float64, error) {
				unsent, due, err := p.db.Webhooks.CountUnsent(ctx)
				if err != nil {
					return nil, err
				}
				more, first, err := p.db.Notifications.CountUnsent(ctx)
				unsent += more
				if due.IsZero() || !first.IsZero() && first.Before(due) {
					due = first
				}
				return []float64{float64(unsent), secondsSince(due)}, err
			},
		},
	}
}

// secondsSince is 0 for what is not, or not yet.
func secondsSince(at time.Time) float64 {
	if at.IsZero() {
		return 0
	}
	return max(0, time.Since(at).Seconds())
}
