package link

import (
	"context"
	"time"

	"github.com/beeos/beeos/internal/engine/invoke"
	"github.com/beeos/beeos/internal/engine/ledger"
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
	now := h.Now()
	for _, t := range h.turns.all() {
		if !t.Deadline.IsZero() && now.After(t.Deadline.Add(overtime)) {
			h.dropEnded(t)
		}
	}
	leases := h.Leases()
	ctx, cancel := context.WithTimeout(ctx, invoke.LeaseTTL/3)
	defer cancel()
	if err := h.Ledger.Extend(ctx, leases, now.Add(invoke.LeaseTTL)); err != nil && ctx.Err() == nil {
		h.Log.Error("leases not extended", "turns", len(leases), "err", err)
	}
}

// releaseTurns gives turns back so that other instances can take them at once.
// If that fails their leases run out, which is slower but comes to the same.
func (h *Hub) releaseTurns(turns []*heldTurn) {
	if len(turns) == 0 {
		return
	}
	h.Go(func() {
		leases := make([]ledger.Lease, len(turns))
		agents := map[string]bool{}
		for i, t := range turns {
			if t.IsNotingStart() { // the ledger must hear of the start before it hears of the end
				h.noteStart(t)
			}
			leases[i] = t.Lease()
			agents[t.Agent] = true
		}
		ctx, cancel := context.WithTimeout(context.Background(), releaseWithin)
		defer cancel()
		if err := h.Ledger.Release(ctx, leases); err != nil {
			h.Log.Error("turns not given back; their leases will run out", "turns", len(leases), "err", err)
			return
		}
		for id := range agents {
			h.Calls.Kick(id)
		}
	})
}
