package agentgateway

import (
	"fmt"
	"testing"
	"time"

	"github.com/beeos/beeos"
)

// TestFrozenInstanceIsPassedOver: of two processes of an agent one is frozen: its
// socket takes what it is sent, and nobody reads it. Once it owes a sign of life for
// two seconds the other one gets everything, and when that has gone, too, a frozen
// one is better than none.
func TestFrozenInstanceIsPassedOver(t *testing.T) {
	s := newStack(t)
	p := s.join()
	id := p.sync(beeos.Definition{Name: "echo"})["echo"]
	frozen := p.dial("") // nobody reads
	defer frozen.kill()
	s.eventually("it is connected", func() bool { return s.gateway.Connections() == 1 })
	s.ask(id, "held")
	s.eventually("the frozen one has it", func() bool { return len(s.gateway.hub.Leases()) == 1 })

	healthy := p.websocket("")
	s.eventually("both are connected", func() bool { return s.gateway.Connections() == 2 })
	s.eventually("it is overdue", func() bool { return s.gateway.Overdue() == 1 })
	const calls = 20
	var waits []func() call
	for i := range calls {
		waits = append(waits, s.ask(id, fmt.Sprint("call ", i)))
	}
	for range calls {
		f := nextMessage(healthy)
		healthy.send(beeos.Frame{Type: beeos.FrameReply, MessageID: f.MessageID, Body: f.Body})
	}
	for i, wait := range waits {
		if got := wait(); got.err != nil || got.reply.Body != fmt.Sprint("call ", i) {
			t.Errorf("call %d: %v %+v", i, got.err, got.reply)
		}
	}
	healthy.kill()
	s.eventually("only the frozen one is left", func() bool { return s.gateway.Connections() == 1 })
	s.ask(id, "last")
	s.eventually("it has this one, too", func() bool { return len(s.gateway.hub.Leases()) == 2 })
}

func nextMessage(w *wsPeer) beeos.Frame {
	for {
		if f := w.next(); f.Type == beeos.FrameMessage {
			return f
		}
	}
}

// TestBusyInstanceIsNotPassedOver: an agent that works on something for long, and
// says nothing, answers pings all the same.
func TestBusyInstanceIsNotPassedOver(t *testing.T) {
	s := newStack(t)
	p := s.join()
	id := p.sync(beeos.Definition{Name: "echo"})["echo"]
	busy := p.websocket("")
	defer busy.kill()
	s.eventually("it is connected", func() bool { return s.gateway.Connections() == 1 })
	first := s.ask(id, "takes long")
	f := nextMessage(busy)
	time.Sleep(2500 * time.Millisecond) // it would be overdue
	if n := s.gateway.Overdue(); n != 0 {
		t.Error("it counts as overdue")
	}
	busy.send(beeos.Frame{Type: beeos.FrameReply, MessageID: f.MessageID, Body: "done"})
	if got := first(); got.err != nil || got.reply.Body != "done" {
		t.Errorf("%v %+v", got.err, got.reply)
	}
}
