package builtin

import (
	"context"
	"time"

	"github.com/beeos/beeos/internal/store/builtins"
)

const (
	// releaseWithin is how long a node that leaves may take to say so.
	releaseWithin = 5 * time.Second
	// handOverWithin is how long it goes on with its agents, until others have them
	// and all answers are given.
	handOverWithin = 5 * time.Second
)

// share is an agent that this node should run.
type share struct {
	builtins.Builtin
	from string // the node that runs it until this one has connected; empty = none does
}

// claimAgents returns the agents that this node should run: those that are its own,
// those that nobody runs and that it got hold of, and those that it takes over from
// a node that is well, because they belong here.
func (rt *Supervisor) claimAgents(ctx context.Context, list []builtins.Builtin) (map[string]share, error) {
	n := rt.nodes
	n.rankNodes(rt.opt.Node) // somebody may have said that it leaves
	want, owners, own := map[string]share{}, map[string]bool{}, 0
	for _, row := range list {
		if owners[row.Node] = true; row.Stopped {
			continue
		}
		if row.Node == rt.opt.Node {
			want[row.ID] = share{Builtin: row}
			own++
			continue
		}
		if NodeFor(row.ID, n.ranked) != rt.opt.Node {
			continue
		}
		if row.Node != "" && !n.gone[row.Node] {
			if n.here[row.Node] && n.hasSettled() || n.isLeaving(row.Node) {
				want[row.ID] = share{row, row.Node}
			}
			continue
		}
		ok, err := rt.opt.Builtins.Claim(ctx, row.ID, row.Node, rt.opt.Node)
		if err != nil {
			return nil, err
		}
		if ok { // else another node was faster
			row.Node = rt.opt.Node
			want[row.ID] = share{Builtin: row}
		}
	}
	n.owners = owners
	if n.isLeaving(rt.opt.Node) && (len(n.ranked) == 0 || own == 0 && rt.countServing() == 0) {
		rt.handedOver()
	}
	return want, nil
}

func (rt *Supervisor) countServing() int {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	return rt.serving
}

// takeOver makes an agent this node's that another one runs, once it is connected
// here: whoever calls finds it at one of the two. That node finishes what it has.
func (rt *Supervisor) takeOver(b *builtin) {
	select {
	case <-b.connected:
	case <-b.ctx.Done():
		return
	}
	ok, err := rt.opt.Builtins.Claim(b.ctx, b.row.ID, b.from, rt.opt.Node)
	if err == nil && !ok { // unless it was left to this node meanwhile
		var now builtins.Builtin
		now, err = rt.opt.Builtins.Get(b.ctx, "", b.row.ID)
		ok = now.Node == rt.opt.Node
	}
	switch {
	case ok:
		rt.tellNodes(News{ID: b.row.ID})
	case b.ctx.Err() == nil:
		if err != nil {
			rt.opt.Log.Warn("a built-in agent is not taken over yet", "agent", b.row.Name, "err", err)
		}
		b.stop()
	}
}

// HandOver lets other nodes take over what this one runs, goes on with it until
// they have, and finishes what it has in hand, for a few seconds at most. From then
// on it takes nothing more.
func (rt *Supervisor) HandOver(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, handOverWithin)
	defer cancel()
	rt.nodes.noteLeaving(rt.opt.Node)
	if rt.opt.Leave != nil {
		rt.opt.Leave()
	}
	rt.tellNodes(News{Leaving: rt.opt.Node})
	select {
	case <-rt.empty:
	case <-ctx.Done():
	}
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
		rt.opt.Tell(News{Leaving: rt.opt.Node})
	}
}
