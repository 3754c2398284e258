package agentgateway

import (
	"context"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/invoke"
	"github.com/beeos/beeos/internal/engine/ledger"
)

const (
	releaseWithin = 10 * time.Second
	overtime      = 30 * time.Second // past its deadline, before a turn is forgotten here
)

// keepLeases extends the leases of every turn on this node, three times as
// often as needed, and looks after connections that nobody polls any more.
func (g *Gateway) keepLeases(ctx context.Context) error {
	tick := time.NewTicker(invoke.LeaseTTL / 3)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
		g.dropIdlePolls(g.Now())
		g.extend(ctx)
	}
}

// extend is one round of leases. Turns past their deadline are ended by the
// ledger's sweep; if that notice never came they are dropped here.
func (g *Gateway) extend(ctx context.Context) {
	now := g.Now()
	var leases []ledger.Lease
	for _, t := range g.desk.all() {
		if !t.deadline.IsZero() && now.After(t.deadline.Add(overtime)) {
			g.overtaken(t)
			continue
		}
		leases = append(leases, t.lease())
	}
	ctx, cancel := context.WithTimeout(ctx, invoke.LeaseTTL/3)
	defer cancel()
	if err := g.Ledger.Extend(ctx, leases, now.Add(invoke.LeaseTTL)); err != nil && ctx.Err() == nil {
		g.Log.Error("leases not extended", "turns", len(leases), "err", err)
	}
}

// release gives turns back so that other instances can take them at once. If
// that fails their leases run out, which is slower but comes to the same.
func (g *Gateway) release(turns []*turn) {
	if len(turns) == 0 {
		return
	}
	g.workers.Go(func() {
		leases := make([]ledger.Lease, len(turns))
		agents := map[string]bool{}
		for i, t := range turns {
			if !t.noted(false) { // the ledger must hear of the start before it hears of the end
				g.noteStart(t)
			}
			leases[i] = t.lease()
			agents[t.agent] = true
		}
		ctx, cancel := context.WithTimeout(context.Background(), releaseWithin)
		defer cancel()
		if err := g.Ledger.Release(ctx, leases); err != nil {
			g.Log.Error("turns not given back; their leases will run out", "turns", len(leases), "err", err)
			return
		}
		for id := range agents {
			g.Calls.Kick(id)
		}
	})
}

// overtaken drops a turn that ended without this agent, and tells the agent.
func (g *Gateway) overtaken(t *turn) {
	t.conn.enqueue(ended(t.id))
	t.conn.drop(t)
}

// ended tells an agent that nobody waits for its answer.
func ended(turn string) []byte {
	return encode(&beeos.Frame{Type: beeos.FrameCancel, MessageID: turn, Reason: "the request has ended"})
}
