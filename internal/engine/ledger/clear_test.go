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
			if got, err := l.ClearHistory(t.Context(), o.Channel.ID); err != nil || got != want+1 {
				t.Fatalf("generation %d, %v", got, err)
			}
		}
		if ms, err := l.Messages(t.Context(), o.Channel.ID, 0, 10); err != nil || len(ms) != 2 {
			t.Errorf("%d messages, %v", len(ms), err)
		}
		if _, err := l.ClearHistory(t.Context(), beeos.NewChannelID()); beeos.CodeOf(err) != beeos.NotFound {
			t.Errorf("of nothing: %v", err)
		}
	})
}

// TestCreateChannelTwice: the second one is a conflict, as its contract says,
// and no trouble of the ledger's.
func TestCreateChannelTwice(t *testing.T) {
	engines(t, func(t *testing.T, open func(Options) *Ledger) {
		l := open(Options{})
		ch := request("agent_a").Channel
		ch.Title = "first"
		if err := l.CreateChannel(t.Context(), ch); err != nil {
			t.Fatal(err)
		}
		ch.Title = "second"
		if err := l.CreateChannel(t.Context(), ch); beeos.CodeOf(err) != beeos.Conflict {
			t.Errorf("the second: %v, want a conflict", err)
		}
		if got, err := l.Channel(t.Context(), ch.ID); err != nil || got.Title != "first" {
			t.Errorf("the channel is %+v, %v", got, err)
		}
	})
}
