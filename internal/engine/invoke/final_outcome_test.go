package invoke

import (
	"strings"
	"testing"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/task"
)

// TestFinalOutcomeDoesNotLookRetryable: under its idempotency key, a call whose
// agent was lost or out of time is told that this is final, and how to ask anew.
func TestFinalOutcomeDoesNotLookRetryable(t *testing.T) {
	for event, stop := range map[task.Event]string{task.OnGivenUp: beeos.StopAgentLost, task.OnDeadline: beeos.StopTimeout} {
		l := newLife(t)
		r := aCall(l.agent, "work")
		r.IdempotencyKey, r.Join, r.Deadline = "once", true, l.clock().Add(lifeLimit)
		first, err := l.calls.Send(t.Context(), *r)
		l.must(err)
		l.happen(first, event)
		stored, err := l.led.Terminal(t.Context(), first.ID)
		if err != nil || stored == nil || stored.StopReason != stop {
			t.Fatalf("%s: stored %+v, %v", event, stored, err)
		}
		for ev, err := range l.calls.Do(t.Context(), r) {
			m := ev.Message
			if err != nil || !ev.Replayed || !m.IsError() || m.StopReason != beeos.StopError || !strings.HasPrefix(m.Body, stored.Body) || !strings.Contains(m.Body, "another key") {
				t.Errorf("%s: repeated %+v, %v", event, m, err)
			}
		}
	}
}
