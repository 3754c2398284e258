package invoke

import (
	"testing"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/bus"
)

// A request that cannot be ended holds up no other.
func TestSweepGoesOn(t *testing.T) {
	n := build(t, ownFile(t), bus.Options{}, nil)
	var turns []beeos.Message
	for range 2 {
		r := aCall(anAgent(beeos.DeliverQueue), "x")
		r.Deadline = time.Now().Add(-time.Second)
		m, err := n.Send(t.Context(), *r)
		if err != nil {
			t.Fatal(err)
		}
		turns = append(turns, m)
	}
	if _, err := n.db.ExecContext(t.Context(), `DELETE FROM channels WHERE id = $1`, turns[0].Channel); err != nil {
		t.Fatal(err)
	}
	if err := n.Sweep(t.Context()); err == nil {
		t.Error("that one could not be ended is not told")
	}
	if m, err := n.ledger.Terminal(t.Context(), turns[1].ID); err != nil || m == nil || m.StopReason != beeos.StopTimeout {
		t.Errorf("the other one ended with %+v, %v", m, err)
	}
}
