package agentgateway

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/google/go-cmp/cmp"

	"github.com/beeos/beeos"
)

// transports are all ways to be connected; everything must work by each.
var transports = map[string]func(*process) peer{
	"websocket": func(p *process) peer { return p.websocket("") },
	"events":    func(p *process) peer { return p.events() },
	"poll":      func(p *process) peer { return p.polling() },
}

func TestRoundTrip(t *testing.T) {
	for name, connect := range transports {
		t.Run(name, func(t *testing.T) {
			s := newStack(t)
			p := s.join()
			ids := p.sync(beeos.Definition{Name: "echo"})
			agent := connect(p)
			hello := expect(t, agent, beeos.FrameHello)
			if diff := cmp.Diff(ids, hello.Agents); diff != "" || hello.ConnectionID == "" || hello.HeartbeatMS != s.gateway.Heartbeat.Milliseconds() {
				t.Fatalf("hello: %s%s", show(hello), diff)
			}

			wait := s.ask(ids["echo"], "hi", nil...)
			m := expect(t, agent, beeos.FrameMessage)
			if m.Body != "hi" || m.AgentID != ids["echo"] || m.Attempt != 1 || m.DeadlineMS == 0 {
				t.Fatalf("message: %s", show(m))
			}
			agent.send(
				beeos.Frame{Type: beeos.FrameDelta, MessageID: m.MessageID, Text: "you said: "},
				beeos.Frame{Type: beeos.FrameReply, MessageID: m.MessageID, Body: "you said: hi", Parts: json.RawMessage(`[{"type":"text","text":"hi"}]`), Payload: json.RawMessage(`{"a":1}`)},
			)
			ack := expect(t, agent, beeos.FrameAck)
			if ack.MessageID != m.MessageID || ack.Offset == 0 || ack.Error != nil {
				t.Fatalf("ack: %s", show(ack))
			}
			got := wait()
			if got.err != nil {
				t.Fatal(got.err)
			}
			want := beeos.Message{
				Type: beeos.AgentReply, State: beeos.StateCompleted, StopReason: beeos.StopEndTurn, InReplyTo: m.MessageID, Channel: m.ChannelID,
				Publisher: "agent:" + ids["echo"], Body: "you said: hi", Parts: json.RawMessage(`[{"type":"text","text":"hi"}]`), Payload: json.RawMessage(`{"a":1}`),
				ID: got.reply.ID, Offset: ack.Offset, CreatedAt: got.reply.CreatedAt, UpdatedAt: got.reply.UpdatedAt,
			}
			if diff := cmp.Diff(want, *got.reply); diff != "" {
				t.Error(diff)
			}
			if len(got.events) != 1 || got.events[0].Text != "you said: " {
				t.Errorf("events: %+v", got.events)
			}
		})
	}
}

func TestKilledConnectionGivesWorkBack(t *testing.T) {
	for name, connect := range transports {
		if name == "poll" {
			continue // it has nothing to close: TestPollDies
		}
		t.Run(name, func(t *testing.T) {
			s := newStack(t)
			p := s.join()
			id := p.sync(beeos.Definition{Name: "echo"})["echo"]
			first := connect(p)
			expect(t, first, beeos.FrameHello)
			wait := s.ask(id, "hi")
			expect(t, first, beeos.FrameMessage)

			second := connect(p)
			expect(t, second, beeos.FrameHello)
			first.kill()
			m := expect(t, second, beeos.FrameMessage)
			if m.Attempt != 2 {
				t.Errorf("attempt %d, want 2", m.Attempt)
			}
			second.send(beeos.Frame{Type: beeos.FrameReply, MessageID: m.MessageID, Body: "done"})
			expect(t, second, beeos.FrameAck)
			if got := wait(); got.err != nil || got.reply.Body != "done" {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestPollDies(t *testing.T) {
	s := newStack(t)
	p := s.join()
	id := p.sync(beeos.Definition{Name: "echo"})["echo"]
	first := p.polling()
	expect(t, first, beeos.FrameHello)
	wait := s.ask(id, "hi")
	expect(t, first, beeos.FrameMessage)
	second := p.polling()
	expect(t, second, beeos.FrameHello)

	s.gateway.hub.Connection(first.conn, p.inst).Transport().(*poller).idle.Reset(0) // as if pollIdle had passed
	m := expect(t, second, beeos.FrameMessage)
	second.send(beeos.Frame{Type: beeos.FrameReply, MessageID: m.MessageID, Body: "done"})
	if got := wait(); got.err != nil || got.reply.Body != "done" {
		t.Errorf("got %+v", got)
	}
	// The first agent wakes up: its connection is gone, it gets a new one.
	status, frames := p.poll(first.conn, "0s")
	if status != http.StatusOK || !strings.Contains(string(frames), `"hello"`) {
		t.Errorf("poll after death: %d %s", status, frames)
	}
}

func TestPoll(t *testing.T) {
	s := newStack(t)
	p := s.join()
	p.sync(beeos.Definition{Name: "echo"})
	agent := p.polling()
	expect(t, agent, beeos.FrameHello)
	if status, frames := p.poll(agent.conn, "1ms"); status != http.StatusNoContent || len(frames) > 0 {
		t.Errorf("nothing to say: %d %s", status, frames)
	}
	if status, _ := p.poll(agent.conn, "10h"); status != http.StatusBadRequest {
		t.Errorf("wait=10h: %d", status)
	}
	c := s.gateway.hub.Connection(agent.conn, p.inst)
	c.End("once")
	c.End("twice") // two reasons may come at the same time
	agent = p.polling()
	stranger := s.join()
	stranger.sync(beeos.Definition{Name: "other"})
	status, frames := stranger.poll(agent.conn, "1ms")
	if status != http.StatusOK || strings.Contains(string(frames), agent.conn) {
		t.Errorf("a stranger polled our connection: %d %s", status, frames)
	}
}

// TestBatches: whatever is queued travels in one message, both ways.
func TestBatches(t *testing.T) {
	s := newStack(t)
	p := s.join()
	id := p.sync(beeos.Definition{Name: "echo"})["echo"]
	agent := p.websocket("")
	expect(t, agent, beeos.FrameHello)
	const n = 200
	var waits []func() call
	for range n {
		waits = append(waits, s.ask(id, "hi\nthere"))
	}
	var replies []beeos.Frame
	for range n {
		m := expect(t, agent, beeos.FrameMessage)
		replies = append(replies, beeos.Frame{Type: beeos.FrameReply, MessageID: m.MessageID, Body: m.Body})
	}
	agent.send(replies...)
	acked := map[string]bool{}
	for range n {
		acked[expect(t, agent, beeos.FrameAck).MessageID] = true
	}
	if len(acked) != n {
		t.Errorf("%d turns acknowledged, want %d", len(acked), n)
	}
	for _, wait := range waits {
		if got := wait(); got.err != nil || got.reply.Body != "hi\nthere" {
			t.Fatalf("got %+v", got)
		}
	}
	if left := len(s.gateway.hub.Leases()); left != 0 {
		t.Errorf("%d turns are still held", left)
	}
}

// TestSilence: a process that no longer answers pings is given up, one that
// merely has nothing to say is not.
func TestSilence(t *testing.T) {
	s := newStack(t)
	s.gateway.Heartbeat = 500 * time.Millisecond // the idle one must get round to two pings on a busy machine
	p := s.join()
	id := p.sync(beeos.Definition{Name: "echo"})["echo"]
	idle := p.websocket("")
	expect(t, idle, beeos.FrameHello)
	path := "/api/v1/agents/connect"
	frozen, _, err := websocket.Dial(s.ctx, s.server.URL+path, &websocket.DialOptions{HTTPHeader: http.Header{"Authorization": {p.sign("GET", path, nil)}}})
	s.must(err)
	defer frozen.CloseNow() // it never reads, so it never answers
	s.eventually("both are connected", func() bool { return s.gateway.Connections() == 2 })
	s.eventually("the frozen one is given up", func() bool { return s.gateway.Connections() == 1 })
	s.ask(id, "still there?")
	expect(t, idle, beeos.FrameMessage)
}

// TestFarewell: the log says why an agent left in its words, not in those of
// the library that read them.
func TestFarewell(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{fmt.Errorf("failed to get reader: %w", websocket.CloseError{Code: websocket.StatusNormalClosure, Reason: "bye"}), "bye"},
		{fmt.Errorf("failed to get reader: %w", io.EOF), "failed to get reader: EOF"},
	} {
		if got := farewell(c.err); got != c.want {
			t.Errorf("%v: %q, want %q", c.err, got, c.want)
		}
	}
}
