package agentgateway

import (
	"context"
	"time"
)

const (
	locksEvery   = 30 * time.Second // notices can be lost, and an operator's command line sends none
	locksOverlap = 5 * time.Minute  // by which clocks may differ
	locksWithin  = 10 * time.Second
)

// followLocks ends the connections of instances that were revoked or whose
// owner was locked out: who signs is checked when a connection is opened, and
// one may stay open for months.
func (g *Gateway) followLocks(ctx context.Context) error {
	tick := time.NewTicker(locksEvery)
	defer tick.Stop()
	since := g.Now()
	for {
		select {
		case <-g.locks.ready():
			g.locks.take()
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
		now := g.Now()
		if err := g.lockOut(ctx, since.Add(-locksOverlap)); err == nil {
			since = now
		} else if ctx.Err() == nil {
			g.Log.Error("who is locked out could not be read", "err", err)
		}
	}
}

// lockOut ends the connections of all who were locked out since then.
func (g *Gateway) lockOut(ctx context.Context, since time.Time) error {
	ctx, cancel := context.WithTimeout(ctx, locksWithin)
	defer cancel()
	instances, err := g.DB.LockedInstances(ctx, since)
	if err != nil {
		return err
	}
	for _, id := range instances {
		for _, c := range g.registry.of(id, "") {
			c.end("this instance was revoked, or its owner is locked out")
		}
	}
	return nil
}
