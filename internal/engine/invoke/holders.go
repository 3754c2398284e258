package invoke

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/bus"
	"github.com/beeos/beeos/internal/engine/ledger"
	"github.com/beeos/beeos/internal/store/database"
)

// A request that was handed to another node is in that one's hands: it extends the
// lease. When it is killed, the lease would run out seconds later, and nobody else
// could tell it from one that is only silent. Who has handed the request over can,
// and lets others have it at once.

const (
	holdersEvery = time.Second
	heldMost     = 100_000 // requests that are remembered; the leases of others run out
)

// holders remembers which other node has taken what this one has handed out, until
// it has ended.
type holders struct {
	mu    sync.Mutex
	turns map[string]*held
	nodes map[string]int  // how many each has
	known map[string]bool // nodes whose session the database knew while they lived
}

type held struct {
	agentID string
	attempt int
	node    string // empty = the request is on its way
}

func newHolders() *holders {
	return &holders{turns: map[string]*held{}, nodes: map[string]int{}, known: map[string]bool{}}
}

// expect notes that an attempt at a request is on its way: it may have ended before
// it is known who has it.
func (h *holders) expect(d *ledger.Delivery) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.drop(d.Turn); len(h.turns) < heldMost {
		h.turns[d.Turn] = &held{agentID: d.AgentID, attempt: d.Attempt}
	}
}

// taken notes who has it.
func (h *holders) taken(turn string, attempt int, node string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if t := h.turns[turn]; t != nil && t.attempt == attempt && t.node == "" {
		t.node = node
		h.nodes[node]++
	}
}

// settle forgets an attempt that no other node has.
func (h *holders) settle(d *ledger.Delivery) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if t := h.turns[d.Turn]; t != nil && t.attempt == d.Attempt && t.node == "" {
		delete(h.turns, d.Turn)
	}
}

// noteEnd forgets a request that has ended.
func (h *holders) noteEnd(n bus.Notice) {
	if n.Terminal {
		h.mu.Lock()
		h.drop(n.Turn)
		h.mu.Unlock()
	}
}

// drop forgets a request. h.mu is held.
func (h *holders) drop(turn string) {
	t := h.turns[turn]
	if t == nil {
		return
	}
	delete(h.turns, turn)
	if t.node == "" {
		return
	}
	if h.nodes[t.node]--; h.nodes[t.node] == 0 {
		delete(h.nodes, t.node)
	}
}

// list returns the nodes that have something, and whether their session is known.
func (h *holders) list() map[string]bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := map[string]bool{}
	for node := range h.nodes {
		all[node] = h.known[node]
	}
	return all
}

func (h *holders) noteSession(node string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.known[node] = true
}

// inherit forgets what a node had, and returns it.
func (h *holders) inherit(node string) (leases []ledger.Lease, agents map[string]bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.known, node)
	agents = map[string]bool{}
	for turn, t := range h.turns {
		if t.node == node {
			leases = append(leases, ledger.Lease{Turn: turn, Attempt: t.attempt})
			agents[t.agentID] = true
			h.drop(turn)
		}
	}
	return leases, agents
}

// watchHolders looks after nodes that have what this one has handed out.
func (c *Calls) watchHolders(ctx context.Context) error {
	if c.opt.Bus.Alone() {
		return nil
	}
	return database.Every(ctx, holdersEvery, c.inheritFromDead, func(err error) {
		c.opt.Log.Error("look for what dead nodes had", "err", err)
	})
}

// inheritFromDead passes on what was handed to nodes that have died since.
func (c *Calls) inheritFromDead(ctx context.Context) error {
	for node, known := range c.holders.list() {
		if !known { // a session that was never seen cannot be missed
			has, err := c.opt.Session(ctx, node)
			if err != nil && !errors.Is(err, database.ErrUnsure) {
				return err
			}
			if has {
				c.holders.noteSession(node)
			}
			continue
		}
		dead, err := c.hasDied(ctx, node)
		if err != nil {
			return err
		}
		if dead {
			if err := c.passOn(ctx, node); err != nil {
				return err
			}
		}
	}
	return nil
}

// hasDied reports whether a node is certainly no more: the bus has lost it, it has
// given no sign of life to the database, and its session there has ended, which that
// of a node that is frozen or cut off does not.
func (c *Calls) hasDied(ctx context.Context, node string) (bool, error) {
	if !c.opt.Bus.HasLeft(ctx, node) {
		return false, nil
	}
	if silent, err := c.opt.Cluster.HasGoneSilent(ctx, node); err != nil || !silent {
		return false, err
	}
	has, err := c.opt.Session(ctx, node)
	if errors.Is(err, database.ErrUnsure) {
		return false, nil
	}
	return !has && err == nil, err
}

// passOn lets others have what a dead node had. A lease that somebody has taken over
// since is another one, and stays.
func (c *Calls) passOn(ctx context.Context, node string) error {
	leases, agents := c.holders.inherit(node)
	over := ledger.Attempt{Why: beeos.LeaseExpired, Node: bus.NameOf(node)}
	if err := c.opt.Ledger.PassOn(ctx, leases, over); err != nil {
		return err // what is lost here ends with its lease
	}
	c.opt.Log.Info("a node has died; what it had is handed out again", "node", over.Node, "requests", len(leases))
	for id := range agents {
		c.Kick(id)
	}
	return nil
}
