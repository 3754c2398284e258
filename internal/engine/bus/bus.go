// Package bus connects the nodes of one BeeOS: dispatch of
// messages to whichever node holds an agent's socket (dispatch.go), presence,
// live events of a channel (events.go), notices of what the ledger committed,
// small control messages to everyone (control.go), and what agents are waiting
// to be told (asks.go), what nodes know of an agent (health.go), and acts that
// only some nodes can do (acts.go). settle.go waits until news have arrived;
// version.go says how the form of messages may change. It runs on core NATS,
// embedded in the process, meshed with the embedded servers of other nodes,
// by TLS (mesh_tls.go), or external (connect.go).
//
// Nothing here is stored and everything here may be lost: whoever must know
// re-reads the ledger. What happens on this node is handed over in process
// and only published when another node could be listening.
package bus

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/beeos/beeos"
)

// ErrNobody is the answer when no node serves the agent.
var ErrNobody = errors.New("no instance of the agent is connected")

// Options says where the bus runs.
type Options struct {
	NodeID  string   // names this node; fresh when empty
	URL     string   // an external NATS; empty = embedded
	Cluster string   // embedded: address to mesh on; empty = this node is alone
	Routes  []string // embedded: nats:// addresses of nodes to mesh with
	Secret  string   // embedded: shared by all nodes of the mesh
	Log     *slog.Logger

	Wait time.Duration // how long an external NATS may take to appear
}

// Bus is one node's end of the bus.
type Bus struct {
	node   string
	log    *slog.Logger
	nc     *nats.Conn
	server *server.Server // nil when NATS is external
	alone  bool           // no other node can ever be there

	mu       sync.RWMutex
	agents   map[string]*served
	watchers map[string]map[*watcher]struct{}
	notices  handlers[Notice]
	controls handlers[Control]
	snapshot func(turn string) (beeos.Event, bool)
	load     func(Dispatch) (json.RawMessage, error)
	asks     func(turn string) ([]beeos.Event, bool)
	health   func(agentID string) (Health, bool)

	versions versions
	slow     atomic.Uint64  // messages were dropped because this node did not keep up
	inbox    chan *nats.Msg // everything that subscriptions bring, read by one goroutine
	requests chan *nats.Msg // dispatches, read by another: they may take a moment
	stop     chan struct{}
	done     sync.WaitGroup
}

type served struct {
	deliver func(Dispatch) bool
	sub     *nats.Subscription
}

type watcher struct {
	handle func(beeos.Event)
	sub    *nats.Subscription
}

// Open connects this node. It returns once the connection stands.
func Open(ctx context.Context, opt Options) (*Bus, error) {
	if opt.NodeID == "" {
		opt.NodeID = beeos.NewID()
	}
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	b := &Bus{
		node:     opt.NodeID,
		alone:    opt.URL == "" && opt.Cluster == "",
		log:      opt.Log,
		agents:   map[string]*served{},
		watchers: map[string]map[*watcher]struct{}{},
		inbox:    make(chan *nats.Msg, 64<<10),
		requests: make(chan *nats.Msg, 16<<10),
		stop:     make(chan struct{}),
	}
	if err := b.connect(ctx, opt); err != nil {
		return nil, err
	}
	for _, subject := range []string{subjectNotice, subjectControl, subjectSnapshot, subjectAsks, subjectSettle, subjectHealth} {
		if _, err := b.nc.ChanSubscribe(subject, b.inbox); err != nil {
			b.Close()
			return nil, err
		}
	}
	if err := b.nc.Flush(); err != nil {
		b.Close()
		return nil, err
	}
	if !b.alone {
		if _, err := b.Announce(nodePrefix + b.node); err != nil { // until it is closed
			b.Close()
			return nil, err
		}
	}
	b.done.Go(func() { b.read(b.inbox, b.receive) })
	b.done.Go(func() { b.read(b.requests, b.answer) })
	return b, nil
}

// Node returns this node's id.
func (b *Bus) Node() string { return b.node }

// NodeName is the end of this node's id: enough to tell nodes apart.
func (b *Bus) NodeName() string { return NameOf(b.node) }

// NameOf is the name of a node by its id.
func NameOf(node string) string { return node[max(0, len(node)-nameLength):] }

const nameLength = 8

// Close takes this node off the bus.
func (b *Bus) Close() {
	if b.nc != nil {
		b.nc.Close()
	}
	close(b.stop)
	b.done.Wait()
	if b.server != nil {
		b.server.Shutdown()
		b.server.WaitForShutdown()
	}
}

// read hands what other nodes sent to handle, one message at a time.
func (b *Bus) read(from chan *nats.Msg, handle func(*nats.Msg) error) {
	for {
		select {
		case m := <-from:
			act := handle
			if !b.versions.reads(b, m) {
				act = refuse
			}
			if err := act(m); err != nil {
				b.log.Error("bus: message from another node", "subject", m.Subject, "err", err)
			}
		case <-b.stop:
			return
		}
	}
}

// Ready reports why the bus cannot carry anything now; nil when it can.
func (b *Bus) Ready() error {
	if !b.nc.IsConnected() {
		return errors.New("not connected to NATS; check NATS_URL")
	}
	return nil
}

// Stats is how this node's end of the bus does.
type Stats struct {
	Connected     bool
	Pending       int    // messages that have arrived and wait for this node
	SlowConsumers uint64 // times that this node, or its embedded server's peer, did not keep up and messages were dropped
	Reconnects    uint64
	In, Out       uint64 // messages
}

// Stats reads the numbers, for those who watch.
func (b *Bus) Stats() Stats {
	carried := b.nc.Stats()
	s := Stats{
		Connected: b.nc.IsConnected(), Pending: len(b.inbox) + len(b.requests), SlowConsumers: b.slow.Load(),
		Reconnects: carried.Reconnects, In: carried.InMsgs, Out: carried.OutMsgs,
	}
	if b.server != nil {
		s.SlowConsumers += uint64(max(0, b.server.NumSlowConsumers()))
	}
	return s
}

// Kind says what the bus runs on.
func (b *Bus) Kind() string {
	switch {
	case b.server == nil:
		return "a NATS server of its own"
	case b.alone:
		return "inside this process, for it alone"
	}
	return "inside this process, meshed with other servers"
}

// Alone reports that there is no other node and never can be one.
func (b *Bus) Alone() bool { return b.alone }

// peers reports whether another node could be listening. A node that joins
// just now misses what its re-reads of the ledger bring anyway.
func (b *Bus) peers() bool {
	return b.server == nil || b.server.NumRoutes() > 0
}
