package invoke

import (
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
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
		if err := n.ledger.ReleaseLeases(context.Background(), []ledger.Lease{{Turn: d.MessageID, Attempt: d.Attempt}}, ledger.Attempt{Why: beeos.InstanceGone}); err != nil {
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
		if err := n.ledger.ReleaseLeases(context.Background(), []ledger.Lease{{Turn: d.MessageID, Attempt: d.Attempt}}, ledger.Attempt{Why: beeos.InstanceGone}); err != nil {
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

// TestCallOfDeadAgentEndsSoon: whoever waits for an agent whose last instance is
// gone hears so within five seconds; a task waits for the agent to restart, and
// so does a call of an agent that says it takes its work up again.
func TestCallOfDeadAgentEndsSoon(t *testing.T) {
	const soon, late = 5 * time.Second, defaultLostAfter + time.Second
	for _, c := range []struct {
		kind   string
		how    beeos.Redelivery
		key    string
		untook bool // the instance dies before it has taken the request
		lostAt time.Duration
	}{
		{beeos.KindInvoke, beeos.RedeliverDefault, "", false, soon},
		{beeos.KindMCP, beeos.RedeliverDefault, "", false, soon},
		{beeos.KindA2A, beeos.RedeliverDefault, "", false, soon},
		{beeos.KindMCP, beeos.RedeliverDefault, "", true, soon},
		{beeos.KindMCP, beeos.RedeliverDefault, "k", true, late},
		{beeos.KindMCP, beeos.RedeliverAlways, "", false, late},
		{beeos.KindMCP, beeos.RedeliverBeforeStart, "", false, late},
		{beeos.KindTask, beeos.RedeliverDefault, "", false, late},
		{beeos.KindConversation, beeos.RedeliverDefault, "", false, late},
	} {
		t.Run(c.kind+" "+string(c.how)+" "+c.key, func(t *testing.T) {
			var ahead atomic.Int64
			n := lone(t, func(o *Options) { o.Now = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) } })
			a := anAgent(beeos.DeliverPush)
			a.Definition.Redelivery = c.how
			a.ID = n.synced(t, beeos.Definition{Name: a.Name, Redelivery: c.how})
			var die func()
			dead := make(chan struct{})
			die = n.serve(t, a.ID, func(d bus.Dispatch) bool {
				if d.Anyone { // it was asked before
					return false
				}
				go func() {
					die()
					if err := n.ledger.ReleaseLeases(context.Background(), []ledger.Lease{{Turn: d.MessageID, Attempt: d.Attempt}}, ledger.Attempt{Why: beeos.InstanceGone}); err != nil && !c.untook {
						t.Error(err)
					}
					close(dead)
				}()
				return !c.untook
			})
			call := aCall(a, "x")
			call.Kind, call.IdempotencyKey = c.kind, c.key
			m, err := n.Send(t.Context(), *call)
			if err != nil {
				t.Fatal(err)
			}
			<-dead
			lost := func(after time.Duration) bool {
				ahead.Store(int64(after))
				if err := n.Sweep(t.Context()); err != nil {
					t.Fatal(err)
				}
				end, err := n.ledger.Terminal(t.Context(), m.ID)
				if err != nil || end != nil && end.StopReason != beeos.StopAgentLost {
					t.Fatalf("%+v, %v", end, err)
				}
				return end != nil
			}
			if lost(2 * time.Second) {
				t.Error("given up at once: an agent that blinks is back by now")
			}
			if lost(soon) != (c.lostAt == soon) || !lost(c.lostAt) {
				t.Errorf("not lost after %s, or before", c.lostAt)
			}
		})
	}
}

// TestCallerHearsThatTheAgentIsAway: what is not repeated waits for the instance
// that has it, but whoever called does not sit there as long. The key gets the
// reply when there is one.
func TestCallerHearsThatTheAgentIsAway(t *testing.T) {
	var ahead atomic.Int64
	n := lone(t, func(o *Options) { o.Now = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) } })
	a := anAgent(beeos.DeliverPush)
	a.Definition.Redelivery = beeos.RedeliverDefault
	dropped := make(chan bus.Dispatch, 1)
	n.serve(t, a.ID, func(d bus.Dispatch) bool {
		go func() {
			if err := n.ledger.ReleaseLeases(context.Background(), []ledger.Lease{{Turn: d.MessageID, Attempt: d.Attempt}}, ledger.Attempt{Why: beeos.InstanceGone}); err != nil {
				t.Error(err)
			}
			dropped <- d
		}()
		return true
	})
	call := func() (last *beeos.Message, err error) {
		r := aCall(a, "x")
		r.IdempotencyKey, r.Join = "k", true
		for ev, e := range n.Do(t.Context(), r) {
			last, err = ev.Message, e
		}
		return last, err
	}
	heard := make(chan error, 1)
	go func() { _, err := call(); heard <- err }()
	d := <-dropped
	ahead.Store(int64(callLostAfter + time.Second))
	if err := n.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-heard; beeos.CodeOf(err) != beeos.AgentServiceUnavailable || !strings.Contains(err.Error(), "may come back") || !strings.Contains(err.Error(), d.MessageID) {
		t.Errorf("the caller hears %v", err)
	}
	if _, err := n.ledger.Finish(t.Context(), beeos.Message{
		Channel: d.Channel, InReplyTo: d.MessageID, Type: beeos.AgentReply, State: beeos.StateCompleted, Publisher: "agent:" + a.ID, Body: "done",
	}); err != nil {
		t.Fatal(err)
	}
	if m, err := call(); err != nil || m.Body != "done" {
		t.Errorf("the key gets %+v, %v", m, err)
	}
}

// TestServerThatWasDownWaitsForAgents: nobody could come back meanwhile.
func TestServerThatWasDownWaitsForAgents(t *testing.T) {
	dsn := ownFile(t)
	first := build(t, dsn, bus.Options{}, nil)
	a := anAgent(beeos.DeliverPush)
	a.ID = first.synced(t, beeos.Definition{Name: a.Name, Redelivery: beeos.RedeliverAlways})
	die := first.serve(t, a.ID, func(bus.Dispatch) bool { return true })
	m, err := first.Send(t.Context(), *aCall(a, "x"))
	if err != nil {
		t.Fatal(err)
	}
	die()
	if err := first.ledger.ReleaseLeases(t.Context(), []ledger.Lease{{Turn: m.ID, Attempt: 1}}, ledger.Attempt{Why: beeos.InstanceGone}); err != nil {
		t.Fatal(err)
	}
	up := time.Now().Add(10 * time.Minute)
	second := build(t, dsn, bus.Options{}, func(o *Options) { o.Now = func() time.Time { return up } })
	lost := func() bool {
		if err := second.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		end, err := second.ledger.Terminal(t.Context(), m.ID)
		if err != nil {
			t.Fatal(err)
		}
		return end != nil
	}
	if up = up.Add(defaultLostAfter - time.Second); lost() {
		t.Error("given up before the agent had its time")
	}
	if up = up.Add(2 * time.Second); !lost() {
		t.Error("not given up")
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
					if err := n.ledger.ReleaseLeases(context.Background(), []ledger.Lease{{Turn: d.MessageID, Attempt: d.Attempt}}, ledger.Attempt{Why: beeos.InstanceGone}); err != nil {
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
		d, err := n.ledger.OpenDelivery(t.Context(), turn)
		if err != nil || !slices.Contains(handedOut, turn) && (d.Leased || d.Final()) {
			t.Errorf("nobody has it: %+v, %v", d, err)
		}
	}
	if len(handedOut) == 0 {
		t.Error("nothing was handed out, so nothing was tested")
	}
}
