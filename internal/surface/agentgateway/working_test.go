package agentgateway

import (
	"context"
	"testing"

	"github.com/beeos/beeos"
)

// TestStillWorking: what may not be handed out twice stays with the agent that
// works on it, over the connections that this takes, and with no other.
func TestStillWorking(t *testing.T) {
	s, p, agent, m, wait := begin(t, beeos.Definition{Name: "pay", Redelivery: beeos.RedeliverNever})
	working := beeos.Frame{Type: beeos.FrameWorking, MessageID: m.MessageID}
	stranger := s.join()
	stranger.sync(beeos.Definition{Name: "other"})
	thief := stranger.websocket("")
	expect(t, thief, beeos.FrameHello)
	thief.send(working, beeos.Frame{Type: beeos.FrameWorking, MessageID: "nothing"}, beeos.Frame{Type: beeos.FrameWorking})
	for range 2 { // in any order
		switch f := thief.next(); {
		case f.Type == beeos.FrameCancel && f.MessageID == "nothing":
		case f.Type == beeos.FrameError && f.Error.Code == string(beeos.MissingParam):
		default:
			t.Errorf("a turn that there is not, or without a name: %s", show(f))
		}
	}

	agent.kill()
	s.eventually("the lease is given back", func() bool { return len(s.gateway.hub.Leases()) == 0 })
	again := p.websocket("")
	expect(t, again, beeos.FrameHello)
	again.send(working)
	if f := expect(t, again, beeos.FrameWorking); f.MessageID != m.MessageID {
		t.Errorf("got %s", show(f))
	}
	d, err := s.ledger.OpenDelivery(s.ctx, m.MessageID)
	s.must(err)
	if held := s.gateway.hub.Leases(); len(held) != 1 || held[0].Attempt != d.Attempt || d.Attempt != 2 {
		t.Errorf("held %+v, stored %+v", held, d)
	}

	// A connection that is not known to be dead yet loses the turn as well.
	third := p.websocket("")
	expect(t, third, beeos.FrameHello)
	third.send(working)
	expect(t, third, beeos.FrameWorking)
	again.kill()
	s.gateway.hub.ExtendLeases(s.ctx)
	if d, err = s.ledger.OpenDelivery(s.ctx, m.MessageID); err != nil || d.Attempt != 3 {
		t.Errorf("stored %+v, %v", d, err)
	}
	third.send(beeos.Frame{Type: beeos.FrameReply, MessageID: m.MessageID, Body: "paid"})
	if got := wait(); got.err != nil || got.reply.Body != "paid" {
		t.Errorf("got %+v", got)
	}
	third.send(working) // over
	expect(t, third, beeos.FrameAck)
}

// TestNoLongerWorking: who was away while its turn ended elsewhere is told on
// its return. It would go on with the work otherwise, or begin it: a second time.
func TestNoLongerWorking(t *testing.T) {
	s, p, agent, m, wait := begin(t, beeos.Definition{Name: "echo"})
	agent.kill()
	other := p.websocket("")
	expect(t, other, beeos.FrameHello)
	expect(t, other, beeos.FrameMessage)
	other.send(beeos.Frame{Type: beeos.FrameReply, MessageID: m.MessageID, Body: "done"})
	expect(t, other, beeos.FrameAck)
	if got := wait(); got.err != nil || got.reply.Body != "done" {
		t.Errorf("got %+v", got)
	}
	back := s.join()
	back.sync(beeos.Definition{Name: "echo"})
	again := back.websocket("")
	expect(t, again, beeos.FrameHello)
	again.send(beeos.Frame{Type: beeos.FrameWorking, MessageID: m.MessageID})
	if f := expect(t, again, beeos.FrameCancel); f.MessageID != m.MessageID {
		t.Errorf("got %s", show(f))
	}
}

// TestWordsOfALostConnection: what an agent said while it had no connection reaches
// those who are listening before what it asks next, and nothing reaches them twice.
func TestWordsOfALostConnection(t *testing.T) {
	s, p, agent, m, wait := begin(t, beeos.Definition{Name: "pay", Redelivery: beeos.RedeliverNever})
	said := func(text string) beeos.Frame {
		return beeos.Frame{Type: beeos.FrameDelta, MessageID: m.MessageID, Text: text}
	}
	hear := listen(s, m.ChannelID, m.MessageID)
	hear("chat_message: hi")
	agent.send(said("to be "))
	hear("to be ")
	agent.kill()
	s.eventually("the lease is given back", func() bool { return len(s.gateway.hub.Leases()) == 0 })
	again := p.websocket("")
	expect(t, again, beeos.FrameHello)
	again.send(beeos.Frame{Type: beeos.FrameWorking, MessageID: m.MessageID})
	expect(t, again, beeos.FrameWorking)
	all := said("to be or not to be")
	all.Reason = "replay"
	again.send(all, beeos.Frame{Type: beeos.FrameInputRequired, MessageID: m.MessageID, Body: "which?"})
	hear("all: to be or not to be", "agent.input_required: which?")
	again.send(beeos.Frame{Type: beeos.FrameReply, MessageID: m.MessageID})
	expect(t, again, beeos.FrameAck)
	got := wait()
	if got.err != nil || got.reply.Body != "to be or not to be" {
		t.Fatalf("got %+v", got)
	}
	caller := "" // who is on the line takes pieces alone
	for _, ev := range got.events {
		caller += ev.Text
	}
	if caller != "to be or not to be" {
		t.Errorf("the caller heard %q", caller)
	}
}

// TestWordsBeforeAQuestion: what an agent said before it asked reaches those who are
// listening before the question does, also what had gathered to travel together.
func TestWordsBeforeAQuestion(t *testing.T) {
	s, _, agent, m, wait := begin(t, beeos.Definition{Name: "pay"})
	hear := listen(s, m.ChannelID, m.MessageID)
	hear("chat_message: hi")
	for _, word := range []string{"to ", "be "} {
		agent.send(beeos.Frame{Type: beeos.FrameDelta, MessageID: m.MessageID, Text: word})
	}
	agent.send(beeos.Frame{Type: beeos.FrameInputRequired, MessageID: m.MessageID, Body: "or not?"})
	hear("to ", "be ", "agent.input_required: or not?")
	agent.send(beeos.Frame{Type: beeos.FrameReply, MessageID: m.MessageID})
	if got := wait(); got.err != nil || got.reply.Body != "to be " {
		t.Fatalf("got %+v", got)
	}
}

// listen follows a request until the test ends. What it returns waits for the next
// words and messages of the agent, and compares them.
func listen(s *stack, channel, request string) (hear func(want ...string)) {
	s.t.Helper()
	words := make(chan string, 100)
	ctx, stop := context.WithCancel(s.ctx)
	s.t.Cleanup(stop)
	go func() { // ends with the test
		for ev, err := range s.calls.WatchTurn(ctx, channel, request, 0) {
			switch {
			case err != nil:
				return
			case ev.Kind == beeos.EventDelta && ev.SoFar:
				words <- "all: " + ev.Text
			case ev.Kind == beeos.EventDelta:
				words <- ev.Text
			case ev.Message != nil && !ev.Message.Type.Terminal():
				words <- string(ev.Message.Type) + ": " + ev.Message.Body
			}
		}
	}()
	return func(want ...string) {
		s.t.Helper()
		for _, w := range want {
			select {
			case got := <-words:
				if got != w {
					s.t.Errorf("heard %q, want %q", got, w)
				}
			case <-s.ctx.Done():
				s.t.Fatalf("never heard %q", w)
			}
		}
	}
}
