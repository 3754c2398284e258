package invoke

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/bus"
)

// TestMissedQuestionIsFound: of two questions one is never heard, because the
// caller's interest has not reached the agent's node yet. Both are put to the
// caller, once each.
func TestMissedQuestionIsFound(t *testing.T) {
	n := lone(t, nil)
	answered := make(chan struct{})
	ask := func(d bus.Dispatch, id string) beeos.Event {
		return beeos.Event{Kind: beeos.EventAsk, Channel: d.Channel, Turn: d.MessageID, Attempt: d.Attempt, AskID: id}
	}
	defer n.answer(t, "agent_a", func(d bus.Dispatch, _ string) *beeos.Message {
		n.bus.ServeAsks(func(turn string) ([]beeos.Event, bool) {
			return []beeos.Event{ask(d, "heard"), ask(d, "missed")}, turn == d.MessageID
		})
		n.bus.Publish(ask(d, "heard"))
		<-answered
		n.bus.Publish(ask(d, "missed")) // it came after all
		return says("done")
	})()
	r := aCall(anAgent(beeos.DeliverPush), "x")
	r.Live = true
	var got []string
	for ev, err := range n.Do(t.Context(), r) {
		if err != nil {
			t.Fatal(err)
		}
		if ev.Kind == beeos.EventAsk {
			got = append(got, ev.AskID)
		}
		if ev.AskID == "missed" {
			close(answered)
		}
	}
	if diff := cmp.Diff([]string{"heard", "missed"}, got); diff != "" {
		t.Error(diff)
	}
}
