// Package agentgateway is where agents connect (port 8083). An instance joins once
// with its public key (join.go) and from then on signs what it sends; it
// declares its agents (sync.go), reads the channels they serve (history.go),
// makes files for callers (files.go) and connects to receive messages: by WebSocket (websocket.go), by
// server-sent events (sse.go) or by long poll (poll.go), the latter two with
// POSTed frames for the way back (frames.go). connect.go opens them all; each
// is one connection (connection.go), a queue of frames towards the agent and
// the turns that the agent is working on (turn.go).
//
// registry.go knows which connections serve an agent and hands each dispatch
// from the bus to the least loaded one; desk.go knows all turns in hand.
// inbound.go acts on the frames that agents send, decode.go reads them,
// finish.go stores the replies that end a turn, pause.go the questions that
// interrupt it; approve.go lets tool calls wait for a person, decide.go lets
// the caller be that person; working.go carries a turn over to its agent's
// next connection. control.go passes cancels, answers and changes on. lease.go
// keeps the leases of all turns and gives them back when a connection is gone,
// locked.go ends the connections of those who may no longer have one.
package agentgateway

import (
	"context"
	"log/slog"
	"net/http"
	"runtime/debug"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/access/approval"
	"github.com/beeos/beeos/internal/access/auth"
	"github.com/beeos/beeos/internal/engine/bus"
	"github.com/beeos/beeos/internal/engine/invoke"
	"github.com/beeos/beeos/internal/engine/ledger"
	"github.com/beeos/beeos/internal/store"
	"github.com/beeos/beeos/internal/wire/httpd"
)

// Options are the parts that the gateway stands on.
type Options struct {
	DB     *store.DB
	Auth   *auth.Authenticator
	Ledger *ledger.Ledger
	Bus    *bus.Bus
	Calls  *invoke.Calls
	Files  *invoke.Files  // nil = agents cannot make files
	Desk   *approval.Desk // nil = nobody can be asked
	Log    *slog.Logger
	Now    func() time.Time // nil = time.Now

	Heartbeat time.Duration // how often an agent hears from us at least; 0 = 10 s
}

// Gateway is this node's door for agents.
type Gateway struct {
	Options
	routes   http.Handler
	registry registry
	desk     desk
	deltas   mailbox[*turn]  // turns with text that waits to be published
	changes  mailbox[string] // agents whose definition has changed
	locks    mailbox[string] // owners who may be locked out
	workers  crew
}

// New returns a gateway; Run must be running while it serves.
func New(o Options) *Gateway {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Heartbeat <= 0 {
		o.Heartbeat = 10 * time.Second
	}
	g := &Gateway{Options: o, workers: crew{log: o.Log}}
	g.routes = g.siteMap()
	return g
}

func (g *Gateway) siteMap() http.Handler {
	mux := http.NewServeMux()
	for _, r := range []struct {
		pattern string
		do      func(http.ResponseWriter, *http.Request) error
	}{
		{"POST /api/v1/agents/join", g.join},
		{"POST /api/v1/agents/sync", g.sync},
		{"GET /api/v1/agents/connect", g.connect},
		{"GET /api/v1/agents/poll", g.poll},
		{"POST /api/v1/agents/frames", g.frames},
		{"POST /api/v1/agents/files", g.presign},
		{"GET /api/v1/agents/channels/{channel}/messages", g.history},
		{"/", nowhere},
	} {
		mux.HandleFunc(r.pattern, func(w http.ResponseWriter, req *http.Request) {
			if err := r.do(w, req); err != nil {
				httpd.WriteError(w, req, err)
			}
		})
	}
	return mux
}

func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) { g.routes.ServeHTTP(w, r) }

func nowhere(_ http.ResponseWriter, r *http.Request) error {
	return beeos.Errorf(beeos.NotFound, "there is no %s %s on the agent gateway", r.Method, r.URL.Path)
}

// Run keeps leases, streams and connections going until ctx ends. Then it
// closes every connection, gives their work back and returns.
func (g *Gateway) Run(ctx context.Context) error {
	defer g.Bus.OnControl(g.control)()
	defer g.Bus.OnNotice(g.noticed)()
	g.Bus.ServeSnapshots(g.snapshot)
	g.Bus.ServeAsks(g.desk.open)

	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return g.keepLeases(ctx) })
	group.Go(func() error { return g.publishDeltas(ctx) })
	group.Go(func() error { return g.followChanges(ctx) })
	group.Go(func() error { return g.followLocks(ctx) })
	err := group.Wait()
	for _, c := range g.registry.stop() {
		c.end("the gateway is restarting")
	}
	g.workers.finish()
	return err
}

// Connections is how many agents are connected to this node now.
func (g *Gateway) Connections() int { return g.registry.size() }

func (g *Gateway) audit(ctx context.Context, row store.AuditRow) {
	row.At = g.Now()
	if err := g.DB.Audit(ctx, row); err != nil {
		g.Log.ErrorContext(ctx, "audit row not written", "action", row.Action, "subject", row.Subject, "err", err)
	}
}

// crew is the goroutines that connections need: a reader each, and writers
// for a moment at a time. One that panics takes nobody else with it.
type crew struct {
	log  *slog.Logger
	mu   sync.RWMutex
	done bool
	wg   sync.WaitGroup
}

// Go runs f beside the caller, or in its place once finish was called.
func (w *crew) Go(f func()) {
	w.mu.RLock()
	if w.done {
		w.mu.RUnlock()
		f()
		return
	}
	w.wg.Add(1)
	w.mu.RUnlock()
	go func() {
		defer w.wg.Done()
		defer w.recover()
		f()
	}()
}

func (w *crew) recover() {
	if fault := recover(); fault != nil {
		w.log.Error("agent gateway", "panic", fault, "stack", string(debug.Stack()))
	}
}

// finish waits for all of them.
func (w *crew) finish() {
	w.mu.Lock()
	w.done = true
	w.mu.Unlock()
	w.wg.Wait()
}

// mailbox hands items to one goroutine without ever blocking who adds them.
type mailbox[T any] struct {
	mu    sync.Mutex
	items []T
	wake  chan struct{}
}

// ready returns a channel that has a value when there are items.
func (m *mailbox[T]) ready() chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.wake == nil {
		m.wake = make(chan struct{}, 1)
	}
	return m.wake
}

func (m *mailbox[T]) add(item T) {
	wake := m.ready()
	m.mu.Lock()
	m.items = append(m.items, item)
	m.mu.Unlock()
	select {
	case wake <- struct{}{}:
	default:
	}
}

func (m *mailbox[T]) take() []T {
	m.mu.Lock()
	defer m.mu.Unlock()
	items := m.items
	m.items = nil
	return items
}
