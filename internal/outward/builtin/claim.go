package builtin

import (
	"context"
	"time"

	"github.com/beeos/beeos/internal/store/builtins"
)

// missedFor is how long a node must not answer before its agents are taken
// over: one that has just started may not be meshed with the others yet.
const missedFor = time.Second

// releaseWithin is how long a node that leaves may take to say so.
const releaseWithin = 5 * time.Second

// claimAgents returns the agents that this node should run: those that are its own,
// and those that nobody runs and that it got hold of.
func (rt *Supervisor) claimAgents(ctx context.Context, list []builtins.Builtin) (map[string]builtins.Builtin, error) {
	gone := map[string]bool{} // by node, as it was found in this look
	want := map[string]builtins.Builtin{}
	for _, row := range list {
		if row.Stopped {
			continue
		}
		if row.Node != rt.opt.Node {
			left, known := gone[row.Node]
			if !known {
				left = rt.nodeIsGone(ctx, row.Node)
				gone[row.Node] = left
			}
			if !left {
				continue
			}
			ok, err := rt.opt.Builtins.Claim(ctx, row.ID, row.Node, rt.opt.Node)
			if err != nil {
				return nil, err
			}
			if !ok {
				continue // another node was faster
			}
			row.Node = rt.opt.Node
		}
		want[row.ID] = row
	}
	for node := range rt.missed {
		if _, looked := gone[node]; !looked {
			delete(rt.missed, node) // it has nothing any more
		}
	}
	return want, nil
}

// nodeIsGone reports whether a node runs nothing any more.
func (rt *Supervisor) nodeIsGone(ctx context.Context, node string) bool {
	if node == "" || rt.opt.Alive == nil {
		return true
	}
	if rt.opt.Alive(ctx, node) {
		delete(rt.missed, node)
		return false
	}
	now := time.Now() // of the machine: it measures a pause
	since, missed := rt.missed[node]
	if !missed {
		rt.missed[node] = now
		return false
	}
	return now.Sub(since) >= missedFor
}

// releaseAgents lets the other nodes have what this one ran.
func (rt *Supervisor) releaseAgents(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseWithin)
	defer cancel()
	list, err := rt.opt.Builtins.List(ctx, "")
	if err != nil {
		rt.opt.Log.Warn("the built-in agents of this node start elsewhere a little later", "err", err)
		return
	}
	left := false
	for _, row := range list {
		if row.Node != rt.opt.Node {
			continue
		}
		ok, err := rt.opt.Builtins.Claim(ctx, row.ID, rt.opt.Node, "")
		if err != nil {
			rt.opt.Log.Warn("the built-in agents of this node start elsewhere a little later", "err", err)
			return
		}
		left = left || ok
	}
	if left && rt.opt.Tell != nil {
		rt.opt.Tell(News{})
	}
}
