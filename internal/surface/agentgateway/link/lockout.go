package link

import (
	"context"
	"time"
)

const (
	lockoutsEvery   = 30 * time.Second // notices can be lost, and an operator's command line sends none
	lockoutsOverlap = 5 * time.Minute  // by which clocks may differ
	lockoutsWithin  = 10 * time.Second
)

// followLockouts ends the connections of instances that were revoked or whose
// owner was locked out: a signature is checked when a connection is opened, and
// one may stay open for months.
func (h *Hub) followLockouts(ctx context.Context) error {
	tick := time.NewTicker(lockoutsEvery)
	defer tick.Stop()
	since := h.Now()
	for {
		select {
		case <-h.lockouts:
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
		now := h.Now()
		if err := h.EndLockedOut(ctx, since.Add(-lockoutsOverlap)); err == nil {
			since = now
		} else if ctx.Err() == nil {
			h.Log.Error("the locked-out instances could not be read", "err", err)
		}
	}
}

// EndLockedOut ends the connections of all who were locked out since then.
func (h *Hub) EndLockedOut(ctx context.Context, since time.Time) error {
	ctx, cancel := context.WithTimeout(ctx, lockoutsWithin)
	defer cancel()
	instances, err := h.Instances.ListLocked(ctx, since)
	if err != nil {
		return err
	}
	for _, id := range instances {
		for _, c := range h.registry.find(id, "") {
			c.End("this instance was revoked, or its owner is locked out")
		}
	}
	return nil
}
