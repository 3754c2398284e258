package link

import "testing"

// TestLeastLoadedConnectionIsPicked: work goes where there is least of it.
func TestLeastLoadedConnectionIsPicked(t *testing.T) {
	s := &servedAgent{conns: []*Connection{{}, {}, {}, {}}}
	for range 4 * 5 {
		s.pickConnection(nil).load.Add(1)
	}
	for i, c := range s.conns {
		if got := c.load.Load(); got != 5 {
			t.Errorf("connection %d has %d turns, want 5", i, got)
		}
	}
}
