package agentgateway

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/surface/agentgateway/link"
)

// TestBadFrames: each is answered with the reason, and the connection lives.
func TestBadFrames(t *testing.T) {
	_, _, agent, m, wait := begin(t, beeos.Definition{Name: "echo"})
	id := m.MessageID
	big := strings.Repeat("x", link.MaxFrame)
	for _, c := range []struct {
		line string
		code beeos.Code
	}{
		{`nonsense`, beeos.InvalidJSON},
		{`{"type":"delta"`, beeos.InvalidJSON},
		{`{"type":"delta","type":"reply"}`, beeos.InvalidJSON},
		{`{"type":"delta","Type":"reply"}`, beeos.InvalidJSON},
		{`{"type":"heartbeat"} {}`, beeos.InvalidJSON},
		{"{\"type\":\"delta\",\"text\":\"\xff\"}", beeos.InvalidJSON},
		{strings.Repeat("[", 200) + strings.Repeat("]", 200), beeos.InvalidJSON},
		{`[]`, beeos.InvalidBody},
		{`5`, beeos.InvalidBody},
		{`{}`, beeos.MissingParam},
		{`{"type":5}`, beeos.InvalidBody},
		{`{"type":"delta","message_id":"` + id + `","text":5}`, beeos.InvalidBody},
		{`{"type":"delta"}`, beeos.MissingParam},
		{`{"type":"dance","message_id":"` + id + `"}`, beeos.InvalidParam},
		{`{"type":"chat_message","message_id":"` + id + `"}`, beeos.InvalidParam},
		{`{"type":"request","message_id":"` + id + `"}`, beeos.MissingParam},
		{`{"type":"resource_updated","uri":"x://y","agent_id":"agent_of_another"}`, beeos.InvalidParam},
		{`{"type":"resource_updated"}`, beeos.InvalidParam},
		{`{"type":"reply"}`, beeos.MissingParam},
		{`{"type":"reply","message_id":"` + id + `","parts":{}}`, beeos.InvalidBody},
		{`{"type":"reply","message_id":"` + id + `","payload":[]}`, beeos.InvalidBody},
		{`{"type":"reply","message_id":"` + id + `","is_error":"yes"}`, beeos.InvalidBody},
		{`{"type":"reply","message_id":"` + id + `","body":"` + big + `"}`, beeos.PayloadTooLarge},
	} {
		agent.raw(c.line)
		got := agent.next()
		want := beeos.FrameError
		if strings.Contains(c.line, `"reply"`) && strings.Contains(c.line, `"message_id"`) {
			want = beeos.FrameAck // so that the agent knows which reply it was
		}
		if got.Type != want || got.Error == nil || got.Error.Code != string(c.code) || (want == beeos.FrameAck && got.MessageID != id) {
			t.Errorf("%.80q: %s, want %s %s", c.line, show(got), want, c.code)
		}
	}
	// Good frames between bad ones count; null and unknown members do not matter.
	agent.raw("{\n\n" + `{"type":"delta","message_id":"` + id + `","text":"a","part":null,"future":[1]}` + "\r\n}\n")
	expect(t, agent, beeos.FrameError)
	expect(t, agent, beeos.FrameError)
	largest := strings.Repeat("é", 1<<19)
	agent.raw(`{"type":"reply","message_id":"` + id + `","body":"` + largest + `"}`)
	if ack := expect(t, agent, beeos.FrameAck); ack.Error != nil {
		t.Errorf("a megabyte: %s", show(ack))
	}
	if got := wait(); got.err != nil || got.reply.Body != largest || len(got.events) != 1 || got.events[0].Text != "a" {
		t.Errorf("got %v, %d events", got.err, len(got.events))
	}
}

// TestUnreadableFrameNamesItsTurn: an agent that waits for what comes of a
// frame hears of it even when the frame holds what nobody may send; else its
// caller would wait until the deadline.
func TestUnreadableFrameNamesItsTurn(t *testing.T) {
	_, _, agent, m, wait := begin(t, beeos.Definition{Name: "echo"})
	for name, line := range map[string]string{
		"NUL in a reply":            `{"type":"reply","message_id":"` + m.MessageID + `","body":"a\u0000b"}`,
		"names that differ in case": `{"type":"reply","message_id":"` + m.MessageID + `","payload":{"id":1,"ID":2}}`,
		"half a pair":               `{"type":"error","message_id":"` + m.MessageID + `","body":"\ud800"}`,
	} {
		agent.raw(line)
		if f := agent.next(); f.Type != beeos.FrameAck || f.MessageID != m.MessageID || f.Error == nil || f.Error.Code != string(beeos.InvalidJSON) {
			t.Errorf("%s: %s", name, show(f))
		}
	}
	agent.raw(`{"type":"approve","message_id":"` + m.MessageID + `","request_id":"r1","tool":"save","arguments":{"a":1,"A":2}}`)
	if f := expect(t, agent, beeos.FrameError); f.MessageID != m.MessageID || f.RequestID != "r1" {
		t.Errorf("a question: %s", show(f))
	}
	agent.send(beeos.Frame{Type: beeos.FrameReply, MessageID: m.MessageID, Body: "done"})
	if got := wait(); got.err != nil || got.reply.Body != "done" {
		t.Errorf("got %+v", got)
	}
}

// TestTooManyQuestions: each is kept until its turn ends, so there is a bound to
// what one turn can make this node keep. One that is answered makes room.
func TestTooManyQuestions(t *testing.T) {
	const maxOpen = 128
	s, _, agent, m, wait := begin(t, beeos.Definition{Name: "echo"})
	asked := make(chan string, 1)
	defer s.bus.Watch(m.ChannelID, func(ev beeos.Event) {
		select {
		case asked <- ev.AskID:
		default: // the first is enough
		}
	})()
	ask := func(kind beeos.FrameType, i int) beeos.Frame {
		return beeos.Frame{Type: kind, MessageID: m.MessageID, RequestID: strconv.Itoa(i), Method: "roots/list", Tool: "save"}
	}
	for i := range maxOpen + 1 {
		agent.send(ask(beeos.FrameRequest, i))
	}
	full := func() {
		t.Helper()
		if f := expect(t, agent, beeos.FrameError); f.Error.Code != string(beeos.RateLimited) || f.RequestID != strconv.Itoa(maxOpen) {
			t.Errorf("got %s", show(f))
		}
	}
	full()
	s.must(s.calls.Answer(s.ctx, <-asked, json.RawMessage(`{"roots":[]}`), nil))
	expect(t, agent, beeos.FrameAnswer)
	agent.send(ask(beeos.FrameRequest, maxOpen+1), ask(beeos.FrameRequest, maxOpen))
	full()
	for i := range maxOpen + 1 {
		agent.send(ask(beeos.FrameApprove, i))
	}
	full()
	agent.send(beeos.Frame{Type: beeos.FrameReply, MessageID: m.MessageID, Body: "done"})
	wait()
}

func TestTooMuchAtOnce(t *testing.T) {
	s, _, agent, _, _ := begin(t, beeos.Definition{Name: "echo"})
	agent.raw(strings.Repeat(" ", link.MaxInbound+1))
	s.eventually("the connection is closed", func() bool { return s.gateway.Connections() == 0 })

	p := s.join()
	p.sync(beeos.Definition{Name: "other"})
	h := &httpPeer{inbox: newInbox(t), p: p}
	if status, answer := h.post(bytes.Repeat([]byte(" "), link.MaxInbound+1)); status != 413 {
		t.Errorf("POST: %d %s", status, answer)
	}
}
