package a2a_test

import (
	"context"
	"testing"
	"time"
)

// TestPlainStreamNamesItsFramesInTheirData: who reads data lines alone knows
// which are pieces and which is the whole answer.
func TestPlainStreamNamesItsFramesInTheirData(t *testing.T) {
	s := start(t)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	var said string
	var last map[string]any
	for frame := range s.stream(ctx, s.url+"/v1/invoke", `{"message":"two words"}`, "Accept", "text/event-stream") {
		if last = frame; frame["type"] == "agent_reply_delta" {
			said += frame["text"].(string)
		} else if frame["type"] != "agent_reply" {
			t.Errorf("a frame without a type that it should have: %v", frame)
		}
	}
	const want = "you said: two words"
	if last["type"] != "agent_reply" || last["text"] != want || last["is_error"] != false || last["context_id"] == "" {
		t.Errorf("the last frame is %v", last)
	}
	if said != want {
		t.Errorf("the pieces say %q", said)
	}
}
