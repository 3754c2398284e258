package bus

import "testing"

// TestHealth: every node that knows something of an agent is heard, once.
func TestHealth(t *testing.T) {
	of := func(opened int) func(string) (Health, bool) {
		return func(id string) (Health, bool) { return Health{Opened: opened}, id == "known" }
	}
	pairs(t, func(t *testing.T, a, b *Bus) {
		a.ServeHealth(of(1))
		eventually(t, "one node's own", func() bool { got := a.Health(t.Context(), "known"); return len(got) == 1 && got[0].Opened == 1 })
		b.ServeHealth(of(2))
		eventually(t, "both", func() bool {
			got := a.Health(t.Context(), "known")
			return len(got) == 2 && got[0].Node < got[1].Node && got[0].Opened+got[1].Opened == 3
		})
		if got := b.Health(t.Context(), "unknown"); len(got) > 0 {
			t.Errorf("%+v", got)
		}
	})
	t.Run("alone", func(t *testing.T) {
		b := open(t, Options{})
		if got := b.Health(t.Context(), "known"); len(got) > 0 {
			t.Errorf("a node without agents: %+v", got)
		}
		b.ServeHealth(of(1))
		if got := b.Health(t.Context(), "known"); len(got) != 1 || got[0].Node != b.NodeName() {
			t.Errorf("%+v", got)
		}
	})
}
