// Package invoke is the call path that every surface uses. A surface fills a
// Request (request.go) with what its protocol said; here it is checked, laid out
// and compared with earlier calls under its idempotency key (fingerprint.go),
// stored, handed to the agent (deliver.go; holders.go looks after what other nodes
// have of it) and waited for (await.go) until its one
// terminal reply. Do (call.go) returns the call as an iterator of events, Resume
// joins one that is under way (trace.go has the span of a caller's request), Send, Continue and Cancel are its pieces for
// surfaces that keep channels open. agents.go keeps agents at hand, asks.go finds
// questions that a caller has missed, stop.go has the calls under way answered before
// the process ends.
package invoke

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/budget"
	"github.com/beeos/beeos/internal/engine/bus"
	"github.com/beeos/beeos/internal/engine/files"
	"github.com/beeos/beeos/internal/engine/ledger"
	"github.com/beeos/beeos/internal/engine/quota"
	"github.com/beeos/beeos/internal/engine/task"
	"github.com/beeos/beeos/internal/engine/watch"
	"github.com/beeos/beeos/internal/store/agents"
	"github.com/beeos/beeos/internal/store/approvals"
	"github.com/beeos/beeos/internal/store/cluster"
	"github.com/beeos/beeos/internal/store/database"
	"github.com/beeos/beeos/internal/telemetry/trace"
)

// Options are the parts that calls run on, and the defaults of a call.
type Options struct {
	Agents    *agents.Table
	Approvals *approvals.Table
	Cluster   *cluster.Table
	Ledger    *ledger.Ledger
	Bus       *bus.Bus
	Budgets   *budget.Budgets // nil = there are none
	Files     *files.Files    // nil = calls have no attachments
	Log       *slog.Logger
	Now       func() time.Time // of leases and deadlines, which other nodes read; nil = the ledger's
	Timeout   time.Duration    // how long a caller waits when neither it nor the agent says; 0 = 60 s
	RateLimit int              // calls per minute, credential and agent; 0 = 60
	LostAfter time.Duration    // how long a dropped request waits for its agent to come back; 0 = 20 s
	OnCall    func(CallRecord) // told about every finished call; must not block

	// Session says whether the process of another node has a session with the
	// database (database.DB.HasSession); nil = nobody knows.
	Session func(ctx context.Context, node string) (bool, error)

	Tracer  *trace.Tracer                        // nil = nobody wants spans
	OnTrace func(ctx context.Context, id string) // told which trace a call is part of, where it has a span
}

// Calls is the call path.
type Calls struct {
	*task.Reader
	*watch.Watcher
	opt    Options
	agents agentCache
	quotas *quota.Quotas
	kicks  chan string // agents whose waiting requests can be handed out

	holders *holders

	started  time.Time      // of this node, by that clock
	late     sync.WaitGroup // requests whose storing takes long
	underway underway
}

// CallRecord is one finished call, for people who watch.
type CallRecord struct {
	At        time.Time
	Surface   string
	Caller    string
	AgentID   string
	AgentName string
	What      string // the tool, or "message"
	Method    string // of MCP, or "message"; one that exists
	Outcome   string // ok, or an error code, or the terminal type
	Took      time.Duration
	Preview   string // first words of the reply
}

const (
	defaultTimeout   = 60 * time.Second
	defaultRateLimit = 60
	defaultLostAfter = 20 * time.Second
	callLostAfter    = 3 * time.Second  // the same for a call that somebody waits for; the sweep may add one
	maxTimeout       = 10 * time.Minute // progress moves a caller's timeout forward up to here
	idempotencyTTL   = 24 * time.Hour
	turnLimit        = time.Hour // a request without a deadline of its own ends here
)

// New returns a Calls; Run must be running for waiters to be woken.
func New(opt Options) *Calls {
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	if opt.Now == nil {
		opt.Now = opt.Ledger.Now
	}
	if opt.Timeout <= 0 {
		opt.Timeout = defaultTimeout
	}
	if opt.RateLimit <= 0 {
		opt.RateLimit = defaultRateLimit
	}
	if opt.LostAfter <= 0 {
		opt.LostAfter = defaultLostAfter
	}
	if opt.OnCall == nil {
		opt.OnCall = func(CallRecord) {}
	}
	if opt.OnTrace == nil {
		opt.OnTrace = func(context.Context, string) {}
	}
	if opt.Session == nil {
		opt.Session = func(context.Context, string) (bool, error) { return false, database.ErrUnsure }
	}
	c := &Calls{
		Reader: &task.Reader{Ledger: opt.Ledger}, Watcher: watch.NewWatcher(opt.Ledger, opt.Bus, opt.Log),
		opt: opt, kicks: make(chan string, 4096), started: opt.Now(), holders: newHolders(),
		underway: underway{idle: make(chan struct{})},
	}
	c.agents.known = map[string]knownAgent{}
	c.quotas = quota.New(quota.Options{
		Cluster: opt.Cluster, Log: opt.Log, Now: opt.Now, PerMinute: opt.RateLimit,
		Shared: opt.Cluster != nil && opt.Cluster.Shareable() && !opt.Bus.Alone(),
	})
	if opt.Budgets == nil {
		c.opt.Budgets = budget.New(budget.Options{})
	}
	opt.Bus.OnControl(c.onControl)
	opt.Bus.OnNotice(c.holders.noteEnd)
	opt.Bus.LoadFrames(c.loadFrame)
	opt.Ledger.OnFreed(c.Kick)
	return c
}

// Timeout is how long a caller waits when neither it nor the agent says.
func (c *Calls) Timeout() time.Duration { return c.opt.Timeout }

// Run wakes waiters, hands out waiting requests and sweeps until ctx ends.
func (c *Calls) Run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return c.Watcher.Run(ctx) })
	g.Go(func() error { return c.handOut(ctx) })
	g.Go(func() error { return c.sweep(ctx) })
	g.Go(func() error { return c.watchHolders(ctx) })
	g.Go(func() error { return c.quotas.Run(ctx) })
	g.Go(func() error { return c.opt.Budgets.Run(ctx) })
	defer c.late.Wait()
	return g.Wait()
}

// Committed is the ledger's hook: it tells every node about new messages.
func Committed(b *bus.Bus) func([]beeos.Message) {
	return func(ms []beeos.Message) {
		ns := make([]bus.Notice, len(ms))
		for i := range ms {
			m := &ms[i]
			ns[i] = bus.Notice{Channel: m.Channel, Offset: m.Offset, Turn: m.InReplyTo, Type: m.Type, Terminal: m.Type.Terminal(), Message: m}
		}
		b.Notify(ns)
	}
}
