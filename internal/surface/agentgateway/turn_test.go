package agentgateway

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/bus"
	"github.com/beeos/beeos/internal/engine/invoke"
	"github.com/beeos/beeos/internal/surface/agentgateway/codec"
	"github.com/beeos/beeos/internal/surface/agentgateway/turn"
)

// begin connects an agent and gives it one message.
func begin(t *testing.T, def beeos.Definition) (*stack, *process, *wsPeer, beeos.Frame, func() call) {
	t.Helper()
	s := newStack(t)
	p := s.join()
	id := p.sync(def)[def.Name]
	agent := p.websocket("")
	expect(t, agent, beeos.FrameHello)
	wait := s.ask(id, "hi")
	return s, p, agent, expect(t, agent, beeos.FrameMessage), wait
}

func TestTerminalFrames(t *testing.T) {
	for _, c := range []struct {
		frame                    beeos.Frame
		kind                     beeos.MessageType
		state, stopReason, wants string
	}{
		{beeos.Frame{Type: beeos.FrameReply, Body: "ok"}, beeos.AgentReply, beeos.StateCompleted, beeos.StopEndTurn, "ok"},
		{beeos.Frame{Type: beeos.FrameReply, Body: "ok", StopReason: "max_tokens"}, beeos.AgentReply, beeos.StateCompleted, "max_tokens", "ok"},
		{beeos.Frame{Type: beeos.FrameReply, Body: "no", IsError: true}, beeos.AgentReplyError, beeos.StateFailed, beeos.StopError, "no"},
		{beeos.Frame{Type: beeos.FrameError, Error: &beeos.FrameFault{Code: "x", Message: "why"}}, beeos.AgentReplyError, beeos.StateFailed, beeos.StopError, "why"},
		{beeos.Frame{Type: beeos.FrameError, Body: "stopped", StopReason: beeos.StopUser}, beeos.AgentReplyError, beeos.StateCancelled, beeos.StopUser, "stopped"},
		{beeos.Frame{Type: beeos.FrameRefuse, Body: "never"}, beeos.AgentRefuse, beeos.StateRefused, beeos.StopRefused, "never"},
		{beeos.Frame{Type: beeos.FrameBusy, Body: "later"}, beeos.AgentBusy, beeos.StateRefused, beeos.StopRefused, "later"},
	} {
		t.Run(show(c.frame), func(t *testing.T) {
			_, _, agent, m, wait := begin(t, beeos.Definition{Name: "echo"})
			c.frame.MessageID = m.MessageID
			agent.send(c.frame)
			got := wait()
			if got.err != nil {
				t.Fatal(got.err)
			}
			if diff := cmp.Diff([]string{string(c.kind), c.state, c.stopReason, c.wants}, []string{string(got.reply.Type), got.reply.State, got.reply.StopReason, got.reply.Body}); diff != "" {
				t.Error(diff)
			}
			expect(t, agent, beeos.FrameAck)
			agent.send(c.frame)
			if again := expect(t, agent, beeos.FrameAck); again.Error == nil || again.Error.Code != string(beeos.MessageTerminal) || again.MessageID != m.MessageID {
				t.Errorf("second terminal: %s", show(again))
			}
		})
	}
}

// TestDeltas: the first is there at once, fast ones travel together, all of
// it stands in the reply that has no text of its own.
func TestDeltas(t *testing.T) {
	s, _, agent, m, wait := begin(t, beeos.Definition{Name: "echo"})
	seen := make(chan beeos.Event, 1000)
	defer s.bus.Watch(m.ChannelID, func(ev beeos.Event) { seen <- ev })()

	var want strings.Builder
	var frames []beeos.Frame
	for i := range 100 {
		fmt.Fprintf(&want, "%d ", i)
		frames = append(frames, beeos.Frame{Type: beeos.FrameDelta, MessageID: m.MessageID, Text: fmt.Sprintf("%d ", i)})
	}
	agent.send(frames[:1]...)
	if ev := <-seen; ev.Text != "0 " || ev.Seq != 1 || ev.Attempt != 1 || ev.Turn != m.MessageID {
		t.Fatalf("first delta: %+v", ev)
	}
	agent.send(frames[1:]...)
	agent.send(beeos.Frame{Type: beeos.FrameDelta, MessageID: m.MessageID, Reasoning: "hm"})
	for _, part := range []string{`{"type":"tool_use","id":"1"}`, `{"type":"x","y":"` + strings.Repeat("y", turn.MaxExtra) + `"}`, `{"type":"tool_result"}`} {
		agent.send(beeos.Frame{Type: beeos.FrameDelta, MessageID: m.MessageID, Part: []byte(part)})
	}
	s.eventually("the text so far is known, what was thought, and the parts that are not too large", func() bool {
		said, ok := s.bus.Snapshot(s.ctx, m.MessageID)
		return ok && said.Text == want.String() && said.Reasoning == "hm" && string(said.Parts) == `[{"type":"tool_use","id":"1"},{"type":"tool_result"}]`
	})
	agent.send(beeos.Frame{Type: beeos.FrameReply, MessageID: m.MessageID})
	expect(t, agent, beeos.FrameAck)
	got := wait()
	if got.err != nil || got.reply.Body != want.String() {
		t.Errorf("got %+v", got)
	}
	text, thoughts := "", ""
	for _, ev := range got.events {
		text += ev.Text
		thoughts += ev.Reasoning
	}
	if text != want.String() || thoughts != "hm" {
		t.Errorf("streamed %q and %q", text, thoughts)
	}
	if n := len(got.events); n > 13 {
		t.Errorf("104 deltas travelled as %d events", n)
	}
	if _, ok := s.bus.Snapshot(s.ctx, m.MessageID); ok {
		t.Error("the text is kept after the end")
	}
}

// TestPartialAnswer: what was said before an answer failed or was stopped is
// kept beside the reason.
func TestPartialAnswer(t *testing.T) {
	_, _, agent, m, wait := begin(t, beeos.Definition{Name: "echo"})
	agent.send(
		beeos.Frame{Type: beeos.FrameDelta, MessageID: m.MessageID, Text: "once upon"},
		beeos.Frame{Type: beeos.FrameError, MessageID: m.MessageID, Body: "stopped", StopReason: beeos.StopUser},
	)
	got := wait()
	if got.reply == nil || got.reply.Body != "stopped" || string(got.reply.Payload) != `{"partial":"once upon"}` || got.reply.State != beeos.StateCancelled {
		t.Errorf("%+v %v", got.reply, got.err)
	}
}

func TestEvents(t *testing.T) {
	_, _, agent, m, wait := begin(t, beeos.Definition{Name: "echo"})
	id := m.MessageID
	agent.send(
		beeos.Frame{Type: beeos.FrameDelta, MessageID: id, Text: "a"},
		beeos.Frame{Type: beeos.FrameDelta, MessageID: id, Text: "b"},
		beeos.Frame{Type: beeos.FrameProgress, MessageID: id, Progress: 1, Total: 2, Text: "half"},
		beeos.Frame{Type: beeos.FrameLog, MessageID: id, Level: "info", Logger: "x", Data: json.RawMessage(`{"n":1}`)},
		beeos.Frame{Type: beeos.FrameLog, MessageID: id, Level: "info", Data: json.RawMessage(`"not for callers"`), Reason: beeos.LogForOwner},
		beeos.Frame{Type: beeos.FrameDelta, MessageID: id, Part: json.RawMessage(`{"type":"source"}`)},
		beeos.Frame{Type: beeos.FrameHeartbeat},
		beeos.Frame{Type: beeos.FrameDelta, MessageID: "another-turn", Text: "nobody's"},
		beeos.Frame{Type: beeos.FrameReply, MessageID: id, Body: "done"},
	)
	base := beeos.Event{Channel: m.ChannelID, Turn: id, Attempt: 1}
	var want []beeos.Event
	for i, ev := range []beeos.Event{
		{Kind: beeos.EventDelta, Text: "a"},
		{Kind: beeos.EventDelta, Text: "b"},
		{Kind: beeos.EventProgress, Progress: 1, Total: 2, Text: "half"},
		{Kind: beeos.EventLog, Level: "info", Logger: "x", Data: json.RawMessage(`{"n":1}`)},
		{Kind: beeos.EventDelta, Part: json.RawMessage(`{"type":"source"}`)},
	} {
		ev.Channel, ev.Turn, ev.Attempt, ev.Seq = base.Channel, base.Turn, base.Attempt, int64(i+1)
		want = append(want, ev)
	}
	if diff := cmp.Diff(want, wait().events); diff != "" {
		t.Error(diff)
	}
}

func TestAskAndAnswer(t *testing.T) {
	s, _, agent, m, wait := begin(t, beeos.Definition{Name: "echo"})
	asked := make(chan beeos.Event, 10)
	defer s.bus.Watch(m.ChannelID, func(ev beeos.Event) { asked <- ev })()
	for _, c := range []struct {
		result json.RawMessage
		fault  *beeos.FrameFault
	}{
		{json.RawMessage(`{"action":"accept"}`), nil},
		{nil, &beeos.FrameFault{Code: "cannot_ask", Message: "no"}},
	} {
		agent.send(beeos.Frame{Type: beeos.FrameRequest, MessageID: m.MessageID, RequestID: "r1", Method: "elicitation/create", Params: json.RawMessage(`{"message":"?"}`)})
		ev := <-asked
		if ev.Kind != beeos.EventAsk || ev.Method != "elicitation/create" || string(ev.Data) != `{"message":"?"}` || ev.AskID == "" {
			t.Fatalf("ask: %+v", ev)
		}
		s.must(s.calls.Answer(s.ctx, ev.AskID, c.result, c.fault))
		got := expect(t, agent, beeos.FrameAnswer)
		if diff := cmp.Diff(beeos.Frame{Type: beeos.FrameAnswer, RequestID: "r1", Result: c.result, Error: c.fault}, got); diff != "" {
			t.Error(diff)
		}
		s.must(s.calls.Answer(s.ctx, ev.AskID, c.result, c.fault)) // a second one reaches nobody
	}
	agent.send(beeos.Frame{Type: beeos.FrameReply, MessageID: m.MessageID, Body: "done"})
	expect(t, agent, beeos.FrameAck)
	wait()
	if open, held := s.bus.Asks(s.ctx, m.MessageID); held || len(open) != 0 {
		t.Errorf("still open: %v", open)
	}
}

func TestCancelAndContinue(t *testing.T) {
	s, _, agent, m, wait := begin(t, beeos.Definition{Name: "echo"})
	agent.send(beeos.Frame{Type: beeos.FrameInputRequired, MessageID: m.MessageID, Body: "which?", Payload: json.RawMessage(`{"choices":[1]}`)})
	s.eventually("the question is stored", func() bool {
		ms, err := s.ledger.Messages(s.ctx, m.ChannelID, m.Offset, 10)
		return err == nil && len(ms) == 1 && ms[0].Type == beeos.AgentInputRequired && ms[0].Body == "which?" && ms[0].InReplyTo == m.MessageID
	})
	frame := beeos.Frame{Type: beeos.FrameContinue, MessageID: m.MessageID, Body: "this"}
	s.bus.Control(bus.Control{Kind: bus.Continue, ID: m.MessageID, Data: codec.Encode(&frame)})
	if diff := cmp.Diff(frame, expect(t, agent, beeos.FrameContinue)); diff != "" {
		t.Error(diff)
	}
	s.must(s.calls.Cancel(s.ctx, m.ChannelID, m.MessageID, "enough"))
	if f := expect(t, agent, beeos.FrameCancel); f.MessageID != m.MessageID || f.Reason != "enough" {
		t.Errorf("cancel: %s", show(f))
	}
	agent.send(beeos.Frame{Type: beeos.FrameError, MessageID: m.MessageID, Body: "stopped", StopReason: beeos.StopUser})
	if got := wait(); got.err != nil || got.reply.State != beeos.StateCancelled {
		t.Errorf("got %+v", got)
	}
}

// TestPauseIsAQuestion: a caller on the line can answer what interrupts a turn.
func TestPauseIsAQuestion(t *testing.T) {
	s, _, agent, m, wait := begin(t, beeos.Definition{Name: "echo"})
	asked := make(chan beeos.Event, 10)
	defer s.bus.Watch(m.ChannelID, func(ev beeos.Event) { asked <- ev })()
	for _, tt := range []struct{ kind, payload, params, answer, body string }{
		{"input_required", `{}`, `{"message":"which?","requestedSchema":{"type":"object","properties":{"message":{"type":"string"}},"required":["message"]}}`, `{"action":"accept","content":{"message":"this"}}`, "this"},
		{"input_required", `{"requestedSchema":{"type":"object"}}`, `{"message":"which?","requestedSchema":{"type":"object"}}`, `{"action":"decline"}`, ""},
		{"auth_required", `{"url":"https://example.com"}`, `{"mode":"url","message":"which?","url":"https://example.com","elicitationId":"` + m.MessageID + `"}`, `{"action":"accept"}`, ""},
	} {
		agent.send(beeos.Frame{Type: beeos.FrameType(tt.kind), MessageID: m.MessageID, Body: "which?", Payload: json.RawMessage(tt.payload)})
		ev := <-asked
		if ev.Method != "elicitation/create" || string(ev.Data) != tt.params {
			t.Fatalf("asked %s %s", ev.Method, ev.Data)
		}
		if open, ok := s.bus.Asks(s.ctx, m.MessageID); !ok || len(open) != 1 || open[0].AskID != ev.AskID {
			t.Errorf("open: %v, %v", open, ok)
		}
		s.must(s.calls.Answer(s.ctx, ev.AskID, json.RawMessage(tt.answer), nil))
		kind := beeos.FrameContinue
		if tt.kind == "auth_required" {
			kind = beeos.FrameAuthGrant
		}
		if got := expect(t, agent, kind); got.Body != tt.body || string(got.Payload) != tt.answer {
			t.Errorf("continued with %s", show(got))
		}
	}
	// Agents download attachments: which ones there are is the gateway's to say.
	agent.send(beeos.Frame{Type: beeos.FrameInputRequired, MessageID: m.MessageID, Body: "a file?"})
	ev := <-asked
	s.must(s.calls.Answer(s.ctx, ev.AskID, json.RawMessage(`{"action":"accept","content":{"a":1},"attachments":[{"url":"http://10.0.0.1/secret","size":1}]}`), nil))
	if got := expect(t, agent, beeos.FrameContinue); string(got.Payload) != `{"action":"accept","content":{"a":1}}` {
		t.Errorf("continued with %s", show(got))
	}
	agent.send(beeos.Frame{Type: beeos.FrameInputRequired, MessageID: m.MessageID, Body: "and?"})
	<-asked
	if _, err := s.calls.Continue(s.ctx, beeos.Message{Type: beeos.Continue, Channel: m.ChannelID, InReplyTo: m.MessageID, Body: "elsewhere"}); err != nil {
		t.Fatal(err)
	}
	expect(t, agent, beeos.FrameContinue)
	if open, _ := s.bus.Asks(s.ctx, m.MessageID); len(open) != 0 {
		t.Errorf("answered elsewhere, and still open: %v", open)
	}
	agent.send(beeos.Frame{Type: beeos.FrameReply, MessageID: m.MessageID, Body: "done"})
	expect(t, agent, beeos.FrameAck)
	wait()
}

// TestDeadline: who misses it is told, and its late reply is refused.
func TestDeadline(t *testing.T) {
	s := newStack(t)
	p := s.join()
	id := p.sync(beeos.Definition{Name: "echo"})["echo"]
	agent := p.websocket("")
	expect(t, agent, beeos.FrameHello)
	wait := s.ask(id, "hi", func(r *invoke.Request) { r.Deadline = time.Now().Add(time.Hour) })
	m := expect(t, agent, beeos.FrameMessage)
	s.later(2 * time.Hour)
	if f := expect(t, agent, beeos.FrameCancel); f.MessageID != m.MessageID {
		t.Errorf("cancel: %s", show(f))
	}
	if got := wait(); got.err != nil || got.reply.StopReason != beeos.StopTimeout {
		t.Errorf("got %+v", got)
	}
	agent.send(beeos.Frame{Type: beeos.FrameReply, MessageID: m.MessageID, Body: "late"})
	if ack := expect(t, agent, beeos.FrameAck); ack.Error == nil || ack.Error.Code != string(beeos.MessageTerminal) {
		t.Errorf("late reply: %s", show(ack))
	}
}

// TestBeforeStart: an agent that must not do a thing twice is given it again
// only if it had not begun.
func TestBeforeStart(t *testing.T) {
	for _, started := range []bool{false, true} {
		t.Run(fmt.Sprint("started=", started), func(t *testing.T) {
			s, p, agent, m, wait := begin(t, beeos.Definition{Name: "pay", Redelivery: beeos.RedeliverBeforeStart})
			if started {
				agent.send(beeos.Frame{Type: beeos.FrameProgress, MessageID: m.MessageID, Progress: 1})
				s.eventually("the start is noted", func() bool {
					d, err := s.ledger.OpenDelivery(s.ctx, m.MessageID)
					return err == nil && d.Started
				})
			}
			second := p.websocket("")
			expect(t, second, beeos.FrameHello)
			agent.kill()
			if !started {
				m := expect(t, second, beeos.FrameMessage)
				second.send(beeos.Frame{Type: beeos.FrameReply, MessageID: m.MessageID, Body: "paid"})
			} else {
				s.eventually("it is given back", func() bool {
					d, err := s.ledger.OpenDelivery(s.ctx, m.MessageID)
					return err == nil && !d.Leased
				})
				s.later(time.Minute) // nobody is expected to come back with it any more
			}
			got := wait()
			if started && (got.reply == nil || got.reply.StopReason != beeos.StopAgentLost) || !started && (got.reply == nil || got.reply.Body != "paid") {
				t.Errorf("got %+v", got)
			}
		})
	}
}
