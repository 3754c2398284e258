package builtin

import (
	"bytes"
	"context"
	"crypto/sha256"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	// watchEvery is how often a node looks who else runs built-in agents.
	watchEvery = time.Second

	// missedFor is how long a node must be missing on the bus before it is gone: one
	// that has just started may not be meshed with the others yet.
	missedFor = time.Second

	// settledFor is how long the same nodes must have been there before one takes
	// agents from another that is well: whoever starts sees them one by one.
	settledFor = time.Second

	// ableFor is how long ago the database may have heard of a node that is given
	// agents: without it, it could take none.
	ableFor = 20 * time.Second

	askAtOnce = 16
)

// nodes is what a node knows of the others that run built-in agents. One that has
// been on the bus counts until it is gone: absent from the bus, and silent for the
// database as well. So whose connection comes and goes keeps what it has, and so
// does one that shares the database and no bus.
type nodes struct {
	here    map[string]bool      // on the bus
	counted map[string]bool      // were, and are not gone
	able    map[string]bool      // the database has heard of them lately
	gone    map[string]bool      // that agents' rows name
	missed  map[string]time.Time // that were expected on the bus, and since when they are not there
	owners  map[string]bool      // whom the rows of agents name

	unknown bool // the last look failed

	ranked []string  // who shares the agents, this node included
	since  time.Time // when they became those; of the machine, it measures a pause

	mu   sync.Mutex
	left map[string]bool // have said that they leave; this node too
}

func newNodes() *nodes {
	return &nodes{
		here: map[string]bool{}, counted: map[string]bool{}, able: map[string]bool{}, gone: map[string]bool{},
		missed: map[string]time.Time{}, owners: map[string]bool{}, left: map[string]bool{},
	}
}

// NodeFor returns which of the nodes an agent belongs to: the one for which the
// hash of both is the highest, so that a node that comes or goes moves no agent
// between two others. All nodes must agree, also those of neighbouring versions.
func NodeFor(agent string, nodes []string) (best string) {
	var highest []byte
	for _, node := range nodes {
		if sum := sha256.Sum256([]byte(agent + " " + node)); bytes.Compare(sum[:], highest) > 0 {
			best, highest = node, sum[:]
		}
	}
	return best
}

// watchNodes looks which nodes are there, and reports whether anything is
// different for agents. A node that hears nothing leaves all as it is.
func (rt *Supervisor) watchNodes(ctx context.Context) (changed bool, err error) {
	n := rt.nodes
	rows, err := rt.opt.Cluster.ListNodes(ctx, time.Time{})
	if err != nil {
		return false, err
	}
	able, silent, others := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, list := range []map[string]bool{n.owners, n.counted} {
		for id := range list {
			others[id], silent[id] = true, true // unless there is a row that says otherwise
		}
	}
	now, alone := rt.opt.Cluster.Now(), rt.opt.Alive == nil && !rt.opt.Cluster.Shareable()
	for _, row := range rows {
		if able[row.ID] = now.Sub(row.SeenAt) < ableFor; able[row.ID] {
			others[row.ID] = true
		}
		silent[row.ID] = alone || rt.opt.Cluster.IsSilent(row)
	}
	delete(others, rt.opt.Node)
	delete(others, "")
	here, err := rt.askNodes(ctx, others)
	if err != nil {
		return false, err
	}
	wasGone, wasSettled := n.gone, n.hasSettled()
	n.here, n.able, n.gone = here, able, map[string]bool{}
	for id := range others {
		n.judgeNode(id, silent[id], rt.opt.Alive != nil)
	}
	for id := range n.missed {
		if !others[id] {
			delete(n.missed, id)
		}
	}
	return n.rankNodes(rt.opt.Node) || n.hasSettled() != wasSettled || !maps.Equal(n.gone, wasGone), nil
}

// askNodes returns which of the nodes are on the bus.
func (rt *Supervisor) askNodes(ctx context.Context, ids map[string]bool) (here map[string]bool, err error) {
	here = map[string]bool{}
	if rt.opt.Alive == nil {
		return here, nil
	}
	var mu sync.Mutex
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(askAtOnce)
	for id := range ids {
		group.Go(func() error {
			alive, err := rt.opt.Alive(ctx, id)
			mu.Lock()
			defer mu.Unlock()
			here[id] = alive
			return err
		})
	}
	return here, group.Wait()
}

// judgeNode decides whether a node is gone.
func (n *nodes) judgeNode(id string, silent, bus bool) {
	if n.here[id] {
		n.counted[id] = true
		delete(n.missed, id)
		return
	}
	now := time.Now() // of the machine: it measures a pause
	since, missed := n.missed[id]
	if !missed {
		since = now
		n.missed[id] = now
	}
	if silent && (!bus || now.Sub(since) >= missedFor) {
		n.gone[id] = true
		delete(n.counted, id)
	}
}

// rankNodes lists who shares the agents, and reports whether that has changed.
func (n *nodes) rankNodes(self string) (changed bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	var ranked []string
	for id := range n.counted {
		if n.able[id] && !n.left[id] {
			ranked = append(ranked, id)
		}
	}
	if !n.left[self] {
		ranked = append(ranked, self)
	}
	slices.Sort(ranked)
	if changed = !slices.Equal(ranked, n.ranked); changed {
		n.ranked, n.since = ranked, time.Now()
	}
	return changed
}

// hasSettled reports whether the same nodes have been there for a while.
func (n *nodes) hasSettled() bool { return time.Since(n.since) >= settledFor }

// noteLeaving remembers that a node is about to leave.
func (n *nodes) noteLeaving(id string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.left[id] = true
}

func (n *nodes) isLeaving(id string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.left[id]
}
