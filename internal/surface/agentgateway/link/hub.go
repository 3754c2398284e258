// Package link is this node's connections to agents and the turns that agents
// work on over them. A connection (connection.go) is a queue of frames towards
// one agent process, whatever transport carries it; the registry (registry.go)
// knows which connections serve an agent and hands each dispatch from the bus to
// the least loaded one; serving.go keeps what they serve in step with what their
// instances declare, and lockout.go ends those of people who may no longer have
// any.
//
// inbound.go acts on the frames that agents send, as many as budget.go lets
// through, finish.go stores the replies
// that end a turn, and control.go passes on what callers say meanwhile. lease.go
// keeps the leases of all turns, gives them back when a connection is gone, and
// carries a turn over to its agent's next connection. health.go remembers what
// people ask about an agent: when it connected, and what it logged last.
package link

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/beeos/beeos/internal/engine/price"
	"github.com/beeos/beeos/internal/store/agents"
	"github.com/beeos/beeos/internal/surface/agentgateway/question"
)

// Options are the parts that a hub stands on; all are needed but Approvals.
type Options struct {
	question.Options
	Instances *agents.Instances
	Now       func() time.Time
	Heartbeat time.Duration // how often an agent hears from us at least

	// Offended is told of instances that were cut off for what they sent.
	Offended func(instance string)
	Prices   *price.List // nil = nobody knows what tokens cost
}

// Hub is where the connections of this node's agents meet.
type Hub struct {
	Options
	registry  registry
	turns     turnTable
	questions *question.Questions
	changes   changedAgents
	lockouts  Signal // somebody may have been locked out
	workers   workers
	book      healthBook
}

// New returns a hub; Run must be running while it is used.
func New(opt Options) *Hub {
	h := &Hub{
		Options: opt, workers: workers{log: opt.Log},
		changes: changedAgents{ready: NewSignal()}, lockouts: NewSignal(), book: healthBook{since: opt.Now()},
	}
	h.questions = question.New(opt.Options, h.Go)
	return h
}

// Run keeps leases and connections going until ctx ends. Then it
// closes every connection, gives their work back and returns.
func (h *Hub) Run(ctx context.Context) error {
	defer h.Bus.OnControl(h.onControl)()
	defer h.Bus.OnNotice(h.onNotice)()
	h.Bus.ServeSnapshots(h.snapshot)
	h.Bus.ServeAsks(h.openQuestions)
	h.Bus.ServeHealth(h.health)

	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return h.keepLeases(ctx) })
	group.Go(func() error { return h.followChanges(ctx) })
	group.Go(func() error { return h.followLockouts(ctx) })
	err := group.Wait()
	for _, c := range h.registry.stop() {
		c.End("the gateway is restarting")
	}
	h.workers.finish()
	return err
}

// Go runs f beside the caller. Run waits for it before it returns.
func (h *Hub) Go(f func()) { h.workers.start(f) }

// Size is how many agents are connected to this node now.
func (h *Hub) Size() int { return h.registry.size() }

// CountOverdue is how many of the connected agents owe a sign of life.
func (h *Hub) CountOverdue() int { return h.registry.countOverdue() }

// Connection returns the connection with this id if it is the instance's own.
func (h *Hub) Connection(id, instance string) *Connection { return h.registry.connection(id, instance) }
