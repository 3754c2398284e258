package agent

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/beeos/beeos"
)

// TestMessagesAreReadWhole: whatever a gateway can say of a call reaches the handler.
func TestMessagesAreReadWhole(t *testing.T) {
	prompt := "Be kind."
	call := beeos.Call{
		Protocol: "mcp", Revision: "2025-11-25", Method: "tools/call", Tool: "search", Arguments: json.RawMessage(`{"q":"\"é\"","n":null}`),
		Params: json.RawMessage(`{"uri":"x"}`), Attachments: json.RawMessage(`[{"file_id":"file_1","filename":"a.txt"}]`), Metadata: map[string]string{"a": "b"},
		Model: "m", Can: []string{"roots", "progress"}, Trial: &beeos.Trial{Prompt: &prompt},
		Input: map[string]json.RawMessage{"age": json.RawMessage(`7`)}, State: "s",
	}
	payload, err := beeos.EncodeJSON(call)
	if err != nil {
		t.Fatal(err)
	}
	line := encode(beeos.Frame{
		Type: beeos.FrameMessage, AgentID: "a", ChannelID: "c", MessageID: "m1", Offset: 7, Attempt: 2, PublisherID: "user:1",
		Body: "say \"hi\"\n", Parts: json.RawMessage(`[{"text":"x"}]`), Payload: payload, DeadlineMS: 1_800_000_000_123,
		TraceParent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", TraceState: "a=b", Spans: true,
	})
	want := Message{
		ID: "m1", Offset: 7, Channel: "c", From: "user:1", Text: "say \"hi\"\n", Parts: json.RawMessage(`[{"text":"x"}]`),
		Method: "tools/call", Tool: "search", Arguments: call.Arguments, Params: call.Params, Model: "m", Trial: call.Trial, Protocol: "mcp",
		Revision: "2025-11-25", Metadata: call.Metadata, Attachments: []Attachment{{FileID: "file_1", Filename: "a.txt"}}, Input: call.Input, State: "s",
		Attempt: 2, Deadline: time.UnixMilli(1_800_000_000_123),
		Trace: beeos.ParseTrace("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "a=b"), can: call.Can, spans: true,
	}
	f, err := readFrame(line)
	if err != nil || f.Type != beeos.FrameMessage {
		t.Fatalf("%+v, %v", f, err)
	}
	got, err := readMessage(line)
	clear(line) // a message keeps nothing of the buffer that it was read from
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(Message{})); diff != "" {
		t.Error(diff)
	}
}

// TestMessagesOfAnotherShape: what is null or unknown is left out, and of what cannot be
// read the gateway hears which message it was.
func TestMessagesOfAnotherShape(t *testing.T) {
	for line, ok := range map[string]bool{
		`{"type":"chat_message","message_id":"m1","body":null,"attempt":null,"payload":null,"tomorrow":{"x":[1]}}`: true,
		`{"type":"chat_message","message_id":"m1","payload":{"tool":null,"can":null,"tomorrow":1}}`:                true,
		`{"payload":{"tool":7},"type":"chat_message","message_id":"m1"}`:                                           false,
		`{"type":"chat_message","offset":"7","message_id":"m1"}`:                                                   false,
		`{"type":"chat_message","message_id":"m1","payload":{"metadata":[]}}`:                                      false,
	} {
		if f, err := readFrame([]byte(line)); err != nil || f.Type != beeos.FrameMessage {
			t.Errorf("%s: %+v, %v", line, f, err)
		}
		m, err := readMessage([]byte(line))
		if (err == nil) != ok || m.ID != "m1" || m.Attempt != 1 {
			t.Errorf("%s: %+v, %v", line, m, err)
		}
	}
	for _, line := range []string{``, `[]`, `{"type":`, `{"type":"ack","message_id":7,"error":{}}`} {
		if _, err := readFrame([]byte(line)); err == nil {
			t.Errorf("%q was read", line)
		}
	}
}

// TestAcks: one without an error names its message, one with an error says why.
func TestAcks(t *testing.T) {
	for line, want := range map[string]beeos.Frame{
		`{"type":"ack","message_id":"m1","offset":2}`:                          {Type: beeos.FrameAck, MessageID: "m1"},
		`{"type":"ack","message_id":"m1","error":{"code":"x","message":"no"}}`: {Type: beeos.FrameAck, MessageID: "m1", Error: &beeos.FrameFault{Code: "x", Message: "no"}},
	} {
		got, err := readFrame([]byte(line))
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v %s", line, err, diff)
		}
	}
}
