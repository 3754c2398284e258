package link

import (
	"context"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/bus"
	"github.com/beeos/beeos/internal/engine/invoke"
	"github.com/beeos/beeos/internal/engine/ledger"
	"github.com/beeos/beeos/internal/surface/agentgateway/codec"
)

const (
	releaseWithin = 10 * time.Second
	overtime      = 30 * time.Second // past its deadline, before a turn is forgotten here
)

// keepLeases extends the leases of every turn on this node, three times as
// often as needed.
func (h *Hub) keepLeases(ctx context.Context) error {
	tick := time.NewTicker(invoke.LeaseTTL / 3)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
		h.ExtendLeases(ctx)
	}
}

// ExtendLeases extends every lease once. Turns past their deadline are ended by
// the ledger's sweep; if that notice never came they are dropped here.
func (h *Hub) ExtendLeases(ctx context.Context) {
	now := h.Ledger.Now()
	for _, t := range h.turns.all() {
		if !t.Deadline.IsZero() && now.After(t.Deadline.Add(overtime)) {
			h.dropEnded(t)
		}
	}
	leases := h.Leases()
	ctx, cancel := context.WithTimeout(ctx, invoke.LeaseTTL/3)
	defer cancel()
	if err := h.Ledger.ExtendLeases(ctx, leases, now.Add(invoke.LeaseTTL)); err != nil && ctx.Err() == nil {
		h.Log.Error("leases not extended", "turns", len(leases), "err", err)
	}
}

// releaseTurns gives turns of one connection back so that other instances can take them at once.
// If that fails their leases run out, which is slower but comes to the same.
func (h *Hub) releaseTurns(turns []*heldTurn) {
	if len(turns) == 0 {
		return
	}
	h.Go(func() {
		leases, over := make([]ledger.Lease, len(turns)), ledger.Attempt{Why: beeos.InstanceGone, Node: h.Bus.NodeName()}
		agents := map[string]bool{}
		for i, t := range turns {
			if t.begun.Load() { // the ledger must hear of the start before it hears of the end
				t.noteStart()
			}
			leases[i], over.Instance = t.Lease(), t.conn.Instance
			agents[t.Agent] = true
		}
		ctx, cancel := context.WithTimeout(context.Background(), releaseWithin)
		defer cancel()
		if err := h.Ledger.ReleaseLeases(ctx, leases, over); err != nil {
			h.Log.Error("turns not given back; their leases will run out", "turns", len(leases), "err", err)
			return
		}
		for id := range agents {
			h.Calls.Kick(id)
		}
	})
}

// resume puts a turn on the connection of an agent that has reconnected and
// never stopped working on it. What may be handed out again comes to the agent
// anyway; this is for what nobody may be given a second time, which would be
// given up otherwise. What has ended meanwhile need not be worked on.
func (c *Connection) resume(turnID string) {
	if c.transport == nil || c.heldTurn(turnID) != nil {
		return
	}
	c.budget.spend(lookUpCost)
	c.work(8*storeCost, func() {
		if err := c.takeOver(turnID); err != nil {
			c.hub.Log.Error("a turn was not put on its agent's new connection", "turn", turnID, "err", err)
		}
	})
}

func (c *Connection) takeOver(id string) error {
	ctx, cancel := context.WithTimeout(context.Background(), releaseWithin)
	defer cancel()
	d, err := c.hub.Ledger.OpenDelivery(ctx, id)
	switch {
	case beeos.CodeOf(err) == beeos.NotFound: // it ended while the agent was away
		c.enqueue(codec.Ended(id))
		return nil
	case err != nil:
		return err
	case !d.Final() || !c.serves(d.AgentID):
		return nil
	}
	lease, ok, err := c.hub.Ledger.ResumeDelivery(ctx, &d, c.hub.Ledger.Now().Add(invoke.LeaseTTL))
	if err != nil || !ok {
		return err
	}
	t := c.hub.newTurn(&bus.Dispatch{AgentID: d.AgentID, MessageID: id, Channel: d.Channel, Attempt: lease.Attempt, Deadline: d.Deadline, Trace: d.Trace}, false)
	if !c.deliver(t, codec.Encode(&beeos.Frame{Type: beeos.FrameWorking, MessageID: id})) {
		return c.hub.Ledger.ReleaseLeases(ctx, []ledger.Lease{lease}, ledger.Attempt{Why: beeos.InstanceGone, Node: c.hub.Bus.NodeName(), Instance: c.Instance})
	}
	return nil
}
