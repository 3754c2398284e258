package ledger

import (
	"testing"
	"time"

	"github.com/beeos/beeos"
)

// kept is a request on a channel that its caller keeps.
func kept(t *testing.T, l *Ledger) *Opening {
	t.Helper()
	o := request("agent_a")
	o.Fresh, o.Channel.SingleShot, o.Channel.Kind = false, false, "conversation"
	if err := l.CreateChannel(t.Context(), o.Channel); err != nil {
		t.Fatal(err)
	}
	return o
}

// TestWrittenToWhileForgotten: a channel that was idle when retention looked is
// not forgotten together with what somebody has said in it since.
func TestWrittenToWhileForgotten(t *testing.T) {
	engines(t, func(t *testing.T, open func(Options) *Ledger) {
		moment := time.Now()
		l := open(Options{Now: func() time.Time { return moment }})
		o, silent := kept(t, l), kept(t, l)
		moment = moment.Add(time.Hour)
		before := moment.Add(-time.Minute)
		found, err := l.idle(t.Context(), before)
		if err != nil || len(found) != 2 {
			t.Fatalf("idle are %v, %v; want both", found, err)
		}
		begin(t, l, o)
		if err := l.forget(t.Context(), found, before); err != nil {
			t.Fatal(err)
		}
		if got, err := l.Message(t.Context(), o.Channel.ID, o.Message.Offset); err != nil || got.ID != o.Message.ID {
			t.Errorf("what was acknowledged is gone: %+v, %v", got, err)
		}
		if _, err := l.Channel(t.Context(), silent.Channel.ID); beeos.CodeOf(err) != beeos.NotFound {
			t.Errorf("the other one is still there: %v", err)
		}
	})
}
