package agentgateway

import (
	"bytes"
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/surface/agentgateway/link"
)

// untilClosed sends the same until the gateway hangs up, and returns how much it
// took.
func (w *wsPeer) untilClosed(text string, most int) (sent int) {
	w.p.t.Helper()
	for ; sent < most; sent += len(text) {
		if w.ws.Write(w.p.ctx, websocket.MessageText, []byte(text)) != nil {
			return sent
		}
	}
	w.p.t.Errorf("%d bytes were taken", sent)
	return sent
}

// TestUselessFramesEndConnection: an agent that sends nothing else is cut off, and
// what it sends after that is not read for long.
func TestUselessFramesEndConnection(t *testing.T) {
	for name, text := range map[string]string{
		"refused":       strings.Repeat("{\n", 900),
		"of no request": `{"type":"delta","message_id":"x","text":"` + strings.Repeat("x", 512<<10) + `"}`,
	} {
		t.Run(name, func(t *testing.T) {
			p := newStack(t).join()
			p.sync(beeos.Definition{Name: "echo"})
			p.dial("").untilClosed(text, 256<<20)
		})
	}
}

// TestStreamBeyondLimitEndsTurn with an error that says why; the connection and
// other turns go on.
func TestStreamBeyondLimitEndsTurn(t *testing.T) {
	s, p, agent, m, wait := begin(t, beeos.Definition{Name: "echo"})
	delta := `{"type":"delta","message_id":"` + m.MessageID + `","text":"` + strings.Repeat("x", 512<<10) + `"}`
	for range 130 {
		agent.raw(delta)
	}
	if got := wait(); got.err != nil || got.reply.Type != beeos.AgentReplyError || !strings.Contains(got.reply.Body, "more than 64 MiB") {
		t.Fatalf("%+v, %v", got.reply, got.err)
	}
	if f := expect(t, agent, beeos.FrameCancel); f.MessageID != m.MessageID || !strings.Contains(f.Reason, "as files") {
		t.Error(show(f))
	}
	expect(t, agent, beeos.FrameAck)
	again := s.ask(p.sync(beeos.Definition{Name: "echo"})["echo"], "hi")
	agent.send(beeos.Frame{Type: beeos.FrameReply, MessageID: expect(t, agent, beeos.FrameMessage).MessageID, Body: "ok"})
	if got := again(); got.err != nil || got.reply.Body != "ok" {
		t.Errorf("%+v, %v", got.reply, got.err)
	}
}

// TestAnswerToManyBadLinesIsShort: two million lines in one POST.
func TestAnswerToManyBadLinesIsShort(t *testing.T) {
	s := newStack(t)
	p := s.join()
	p.sync(beeos.Definition{Name: "echo"})
	h := &httpPeer{inbox: newInbox(t), p: p}
	status, answer := h.post(bytes.Repeat([]byte("x\n"), 2<<20-1))
	if status != http.StatusOK || len(answer) > 1<<20 || !strings.Contains(string(answer), "the rest was not read") {
		t.Errorf("%d, %d bytes that end with %.300s", status, len(answer), answer[max(0, len(answer)-300):])
	}
	if status, answer := h.post([]byte(`{"type":"heartbeat"}`)); status != http.StatusTooManyRequests || !strings.Contains(string(answer), "cut off") {
		t.Errorf("whoever sent that goes on: %d %s", status, answer)
	}
	other := &httpPeer{inbox: newInbox(t), p: s.join()}
	other.p.sync(beeos.Definition{Name: "other"})
	if status, answer := other.post([]byte(`{"type":"heartbeat"}`)); status != http.StatusOK {
		t.Errorf("another instance: %d %s", status, answer)
	}
}

// TestPausesAreBounded: each is stored, also when nobody can be asked.
func TestPausesAreBounded(t *testing.T) {
	s, _, agent, m, _ := begin(t, beeos.Definition{Name: "echo"})
	pause := beeos.Frame{Type: beeos.FrameInputRequired, MessageID: m.MessageID, Body: "which?"}
	frames := make([]beeos.Frame, 1100)
	for i := range frames {
		frames[i] = pause
	}
	agent.send(frames...)
	refused := 0
	for range frames {
		if f := agent.next(); f.Error != nil && f.Error.Code == string(beeos.RateLimited) {
			if refused++; refused == 100 {
				break
			}
		}
	}
	stored, err := s.ledger.Messages(context.Background(), m.ChannelID, 0, 5000)
	if err != nil || len(stored) > 1010 {
		t.Errorf("%d messages, %v", len(stored), err)
	}
}

// TestPingsAloneEndConnection: each would be answered.
func TestPingsAloneEndConnection(t *testing.T) {
	_, _, agent, _, _ := begin(t, beeos.Definition{Name: "echo"})
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	go func() { // ends with ctx
		for range 2 * maxPings {
			if agent.ws.Ping(ctx) != nil {
				return
			}
		}
	}()
	for {
		select {
		case _, open := <-agent.frames:
			if !open {
				return
			}
		case <-ctx.Done():
			t.Fatal("the gateway does not hang up")
		}
	}
}

// TestIdleAgentMayPing: one that has nothing to say for days, and whose library
// pings to keep the line open, stays.
func TestIdleAgentMayPing(t *testing.T) {
	s := &socket{c: &link.Connection{}, surface: &Surface{Options: Options{Heartbeat: time.Hour}}, timer: time.NewTimer(time.Hour)}
	defer s.timer.Stop()
	for range 3 {
		s.heard.Store(true)
		s.tick()
		for range maxPings {
			if !s.allowPong(t.Context(), nil) {
				t.Fatal("a ping is refused")
			}
		}
	}
}
