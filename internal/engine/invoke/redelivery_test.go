package invoke

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/bus"
	"github.com/beeos/beeos/internal/engine/ledger"
)

// serve lets deliver have an agent's dispatches.
func (n *node) serve(t *testing.T, agentID string, deliver func(bus.Dispatch) bool) (stop func()) {
	t.Helper()
	stop, err := n.bus.Serve(agentID, deliver)
	if err != nil {
		t.Fatal(err)
	}
	return stop
}

// An instance that drops its work gives it to the next one; after too many
// the caller hears that the agent is lost.
func TestDroppedWorkIsRedeliveredThenLost(t *testing.T) {
	n := lone(t, nil)
	attempts := 0
	defer n.answer(t, "agent_a", func(d bus.Dispatch, _ string) *beeos.Message {
		attempts = d.Attempt // one at a time: each waits for the release of the one before
		if err := n.ledger.Release(context.Background(), []ledger.Lease{{Turn: d.MessageID, Attempt: d.Attempt}}); err != nil {
			t.Error(err)
		}
		n.Kick("agent_a")
		return nil
	})()
	m, err := Last(n.Do(t.Context(), aCall(anAgent(beeos.DeliverPush), "x")))
	if err != nil || m.StopReason != beeos.StopAgentLost || attempts != beeos.MaxAttempts {
		t.Errorf("after %d attempts: %+v, %v", attempts, m, err)
	}
}

// An agent that wants no repeats gets none: its reply may still come, from
// wherever it reconnects, until it is given up.
func TestRedeliveryNever(t *testing.T) {
	var mu sync.Mutex
	ahead := time.Duration(0)
	n := lone(t, func(o *Options) {
		o.Now = func() time.Time { mu.Lock(); defer mu.Unlock(); return time.Now().Add(ahead) }
	})
	a := anAgent(beeos.DeliverPush)
	a.Definition.Redelivery = beeos.RedeliverNever
	dropped := make(chan struct{})
	defer n.answer(t, a.ID, func(d bus.Dispatch, _ string) *beeos.Message {
		if d.Attempt > 1 {
			t.Error("delivered a second time")
		}
		if err := n.ledger.Release(context.Background(), []ledger.Lease{{Turn: d.MessageID, Attempt: d.Attempt}}); err != nil {
			t.Error(err)
		}
		n.Kick(a.ID)
		close(dropped)
		return nil
	})()
	m, err := n.Send(t.Context(), *aCall(a, "x"))
	if err != nil {
		t.Fatal(err)
	}
	<-dropped
	if err := n.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if early, err := n.ledger.Terminal(t.Context(), m.ID); err != nil || early != nil {
		t.Fatalf("given up at once: %+v, %v", early, err)
	}
	mu.Lock()
	ahead = defaultLostAfter + time.Second
	mu.Unlock()
	if err := n.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	end, err := n.Wait(t.Context(), m.ID, 10*time.Second)
	if err != nil || end.StopReason != beeos.StopAgentLost {
		t.Errorf("= %+v, %v; want agent_lost", end, err)
	}
}

// Who gives a key wants the work done once: it is handed out again only when
// nobody can have had it, or when the agent has said that it may be.
func TestKeyedCallIsHandedOutOnce(t *testing.T) {
	for _, c := range []struct {
		name     string
		how      beeos.Redelivery
		key      string
		accepted bool // the first one is taken and then dropped; else nobody takes it
		attempts int
	}{
		{"by default", beeos.RedeliverDefault, "k", true, 1},
		{"without a key", beeos.RedeliverDefault, "", true, 2},
		{"always", beeos.RedeliverAlways, "k", true, 2},
		{"before start", beeos.RedeliverBeforeStart, "k", true, 2},
		{"nobody took it", beeos.RedeliverDefault, "k", false, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := lone(t, func(o *Options) { o.LostAfter = time.Nanosecond })
			a := anAgent(beeos.DeliverPush)
			a.Definition.Redelivery = c.how
			first, attempts := true, 0
			defer n.serve(t, a.ID, func(d bus.Dispatch) bool {
				if first = !first; !first && !c.accepted {
					return false // full, for the moment
				}
				attempts = d.Attempt
				go func() { // the test waits for what it does
					if !c.accepted || d.Attempt > 1 {
						_, err := n.ledger.Finish(context.Background(), beeos.Message{Channel: d.Channel, InReplyTo: d.MessageID, Type: beeos.AgentReply, Body: "done"})
						if err != nil {
							t.Error(err)
						}
						return
					}
					if err := n.ledger.Release(context.Background(), []ledger.Lease{{Turn: d.MessageID, Attempt: d.Attempt}}); err != nil {
						t.Error(err)
					}
					n.Kick(a.ID)
				}()
				return true
			})()
			r := aCall(a, "x")
			r.IdempotencyKey = c.key
			m, err := Last(n.Do(t.Context(), r))
			if err != nil || attempts != c.attempts || (m.StopReason == beeos.StopAgentLost) != (c.accepted && c.attempts == 1) {
				t.Errorf("attempt %d, %+v, %v", attempts, m, err)
			}
		})
	}
}

// What a node has claimed when it stops, and not handed out, goes back as if it
// had never been claimed: nobody has it, so it need not be given up as uncertain.
func TestStopWhileHandingOut(t *testing.T) {
	n := build(t, ownFile(t), bus.Options{}, nil)
	a := anAgent(beeos.DeliverQueue)
	a.ID, a.Definition.Redelivery, a.Definition.Lane = "agent_q", beeos.RedeliverNever, beeos.LaneSession
	var turns []string
	for _, context := range []string{"one", "two", "three"} {
		r := aCall(a, "x")
		r.ContextID = context
		m, err := n.Send(t.Context(), *r)
		if err != nil {
			t.Fatal(err)
		}
		turns = append(turns, m.ID)
	}
	ctx, stop := context.WithCancel(t.Context())
	var handedOut []string
	defer n.serve(t, a.ID, func(d bus.Dispatch) bool {
		stop()
		handedOut = append(handedOut, d.MessageID)
		return true
	})()
	_ = n.handOutTo(ctx, a.ID) // that it was stopped is no news
	for _, turn := range turns {
		d, err := n.ledger.Turn(t.Context(), turn)
		if err != nil || !slices.Contains(handedOut, turn) && (d.Leased || d.Final()) {
			t.Errorf("nobody has it: %+v, %v", d, err)
		}
	}
	if len(handedOut) == 0 {
		t.Error("nothing was handed out, so nothing was tested")
	}
}
