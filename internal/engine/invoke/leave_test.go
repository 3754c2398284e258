package invoke

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/bus"
)

// What a caller says to a request reaches the agent once it is stored, also
// when the caller has left by then: to say it again would be refused.
func TestCallerLeavesWhileItSpeaks(t *testing.T) {
	for _, c := range []struct {
		stored beeos.MessageType
		sent   bus.ControlKind
		speak  func(context.Context, *node, beeos.Message) error
	}{
		{beeos.Continue, bus.Continue, func(ctx context.Context, n *node, m beeos.Message) error {
			_, err := n.Continue(ctx, beeos.Message{Channel: m.Channel, InReplyTo: m.ID, Type: beeos.Continue, Body: "this one"})
			return err
		}},
		{beeos.ChatCancel, bus.Cancel, func(ctx context.Context, n *node, m beeos.Message) error {
			return n.Cancel(ctx, m.Channel, m.ID, "no more")
		}},
	} {
		t.Run(string(c.stored), func(t *testing.T) {
			n := build(t, ownFile(t), bus.Options{}, nil)
			defer n.serve(t, "agent_a", func(bus.Dispatch) bool { return true })()
			m, err := n.Send(t.Context(), *aCall(anAgent(beeos.DeliverPush), "x"))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := n.ledger.Append(t.Context(), beeos.Message{Channel: m.Channel, InReplyTo: m.ID, Type: beeos.AgentInputRequired, Body: "which?"}); err != nil {
				t.Fatal(err)
			}
			heard := false
			defer n.bus.OnControl(func(got bus.Control) { heard = heard || got.Kind == c.sent && got.ID == m.ID })()
			ctx, leave := context.WithCancel(t.Context())
			gone := make(chan struct{})
			defer n.bus.OnNotice(func(news bus.Notice) { // in the middle: it is stored, and not yet told to be
				if news.Type != c.stored {
					return
				}
				leave()
				select {
				case <-gone:
				case <-time.After(100 * time.Millisecond): // who is not gone by now stays
				}
			})()
			err = c.speak(ctx, n, m)
			close(gone)
			if ctx.Err() == nil || !heard {
				t.Errorf("left: %v, the agent has heard of it: %t, %v", ctx.Err(), heard, err)
			}
		})
	}
}

// Of several who answer an agent's question at once one is heard; the others
// find the request running.
func TestOneAnswerToAQuestion(t *testing.T) {
	n := build(t, ownFile(t), bus.Options{}, nil)
	defer n.serve(t, "agent_a", func(bus.Dispatch) bool { return true })()
	m, err := n.Send(t.Context(), *aCall(anAgent(beeos.DeliverPush), "x"))
	if err != nil {
		t.Fatal(err)
	}
	var heard atomic.Int64
	defer n.bus.OnControl(func(c bus.Control) {
		if c.Kind == bus.Continue {
			heard.Add(1)
		}
	})()
	busy := make(chan struct{}, 2)
	defer n.bus.OnNotice(func(news bus.Notice) { // the ledger is busy until all have seen that the agent waits
		if news.Channel != m.Channel {
			busy <- struct{}{}
			<-time.After(100 * time.Millisecond)
		}
	})()
	for question := range int64(2) {
		if _, err := n.ledger.Append(t.Context(), beeos.Message{Channel: m.Channel, InReplyTo: m.ID, Type: beeos.AgentInputRequired, Body: "which?"}); err != nil {
			t.Fatal(err)
		}
		var stored atomic.Int64
		var all sync.WaitGroup
		all.Go(func() {
			if _, err := n.Send(t.Context(), *aCall(anAgent(beeos.DeliverPush), "something else")); err != nil {
				t.Error(err)
			}
		})
		<-busy
		for range 8 {
			all.Go(func() {
				_, err := n.Continue(t.Context(), beeos.Message{Channel: m.Channel, InReplyTo: m.ID, Type: beeos.Continue, Body: "this one"})
				switch {
				case err == nil:
					stored.Add(1)
				case beeos.CodeOf(err) != beeos.Conflict:
					t.Error(err)
				}
			})
		}
		all.Wait()
		if stored.Load() != 1 || heard.Load() != question+1 {
			t.Errorf("question %d: %d were stored, the agent has heard %d in all", question+1, stored.Load(), heard.Load())
		}
	}
}
