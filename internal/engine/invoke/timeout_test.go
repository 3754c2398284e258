package invoke

import (
	"testing"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/bus"
)

// TestTimeoutCountsFromTheCall: what it takes to hand a request to its agent, as
// when the bus has just lost the other node, is part of what the caller waits.
func TestTimeoutCountsFromTheCall(t *testing.T) {
	t.Parallel() // it only waits
	const handing, timeout = 1500 * time.Millisecond, 3 * time.Second
	n := lone(t, nil)
	stop, err := n.bus.Serve("agent_a", func(bus.Dispatch) bool {
		time.Sleep(handing)
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	r := aCall(anAgent(beeos.DeliverPush), "x")
	r.Timeout = timeout
	began := time.Now()
	_, err = Last(n.Do(t.Context(), r))
	took := time.Since(began)
	if beeos.CodeOf(err) != beeos.ServiceTimeout || took < timeout || took > timeout+handing-200*time.Millisecond {
		t.Errorf("after %s: %v", took, err)
	}
}
