package invoke

import (
	"context"
	"strings"
	"testing"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/bus"
)

// TestStoppingServerFinishesItsCalls: what is under way is answered, also where it
// needs another agent; what is new is refused, in every way to begin a call.
func TestStoppingServerFinishesItsCalls(t *testing.T) {
	n := lone(t, nil)
	begun, release := make(chan struct{}, 1), make(chan struct{})
	defer n.answer(t, "agent_a", func(_ bus.Dispatch, text string) *beeos.Message {
		if text == "held" {
			begun <- struct{}{}
			<-release
		}
		return says(text)
	})()
	a := anAgent(beeos.DeliverPush)
	held := make(chan error, 1)
	go func() {
		m, err := Last(n.Do(t.Context(), aCall(a, "held")))
		if err == nil && m.Body != "held" {
			err = beeos.Errorf(beeos.InternalError, "it was answered %q", m.Body)
		}
		held <- err
	}()
	<-begun
	if waiting := n.TakeNoMore(); waiting != 1 {
		t.Errorf("%d calls are waited for", waiting)
	}
	_, sent := n.Send(t.Context(), *aCall(a, "new"))
	_, called := Last(n.Do(t.Context(), aCall(a, "new")))
	for _, err := range []error{sent, called} {
		if beeos.CodeOf(err) != beeos.AgentServiceUnavailable || !strings.Contains(err.Error(), "stopping") || beeos.Public(err).RetryAfter == 0 {
			t.Errorf("a new call: %v", err)
		}
	}
	needed := aCall(a, "needed")
	needed.Chain = []string{"agent_caller"}
	if _, err := Last(n.Do(t.Context(), needed)); err != nil {
		t.Errorf("a call that one under way needs: %v", err)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	n.AwaitIdle(over) // its time is over: it waits no longer
	close(release)
	if err := <-held; err != nil {
		t.Error(err)
	}
	n.AwaitIdle(t.Context())
}

// TestIdleServerStopsAtOnce: where nobody waits there is nothing to wait for.
func TestIdleServerStopsAtOnce(t *testing.T) {
	n := lone(t, nil)
	if waiting := n.TakeNoMore(); waiting != 0 {
		t.Errorf("%d calls are waited for", waiting)
	}
	n.AwaitIdle(t.Context())
}
