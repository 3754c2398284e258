package ledger

import (
	"testing"

	"github.com/beeos/beeos"
)

// TestClear: it counts, it marks where the log stood, and it deletes nothing.
func TestClear(t *testing.T) {
	engines(t, func(t *testing.T, open func(Options) *Ledger) {
		l := open(Options{})
		o := request("agent_a")
		begin(t, l, o)
		if _, err := l.Finish(t.Context(), reply(o, "x")); err != nil {
			t.Fatal(err)
		}
		for want := range int64(3) {
			ch, err := l.Channel(t.Context(), o.Channel.ID)
			if err != nil || ch.Generation != want || (want > 0) != (ch.Cleared == 2) {
				t.Fatalf("%+v, %v", ch, err)
			}
			if got, err := l.Clear(t.Context(), o.Channel.ID); err != nil || got != want+1 {
				t.Fatalf("generation %d, %v", got, err)
			}
		}
		if ms, err := l.Messages(t.Context(), o.Channel.ID, 0, 10); err != nil || len(ms) != 2 {
			t.Errorf("%d messages, %v", len(ms), err)
		}
		if _, err := l.Clear(t.Context(), beeos.NewChannelID()); beeos.CodeOf(err) != beeos.NotFound {
			t.Errorf("of nothing: %v", err)
		}
	})
}
