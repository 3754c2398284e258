package ledger

import (
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/beeos/beeos"
)

// TestSweepPassesOverWhatWaits: requests that wait for an agent which is away
// need nobody's attention, however many there are. Those of other agents that
// do get it all the same.
func TestSweepPassesOverWhatWaits(t *testing.T) {
	for _, waiting := range []struct {
		name string
		mode beeos.DeliveryMode
	}{{"to be queued", beeos.DeliverQueue}, {"to be taken", beeos.DeliverPush}} {
		t.Run(waiting.name, func(t *testing.T) {
			l := openSQLite(t, Options{})
			var g errgroup.Group
			for range sweepLimit {
				o := request("agent_away")
				o.Delivery.Mode, o.Delivery.Redelivery = waiting.mode, beeos.RedeliverNever
				g.Go(func() error {
					if _, _, err := l.BeginRequest(t.Context(), o); err != nil || waiting.mode == beeos.DeliverQueue {
						return err
					}
					return l.UndoClaim(t.Context(), []Lease{{o.Message.ID, 1}})
				})
			}
			if err := g.Wait(); err != nil {
				t.Fatal(err)
			}
			dropped, late := request("agent_a"), request("agent_a")
			dropped.Delivery.LeaseUntil = time.Now().Add(-time.Second)
			late.Delivery.Deadline = time.Now().Add(-time.Second)
			begin(t, l, dropped)
			begin(t, l, late)
			found, err := l.Sweep(t.Context())
			if err != nil || len(found.Expired) != 1 || found.Expired[0].Turn != late.Message.ID {
				t.Errorf("past their deadline: %d, %v; want one", len(found.Expired), err)
			}
			if d, err := l.OpenDelivery(t.Context(), dropped.Message.ID); err != nil || d.Leased {
				t.Errorf("a lease that ran out: %+v, %v; want it to be ended", d, err)
			}
		})
	}
}
