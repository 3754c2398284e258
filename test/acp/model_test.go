//go:build unix && clients

// Package acp runs coding agents that others wrote behind the bridge for them: the
// example agent of the protocol, and Claude Code with a model that is played by a
// server of the test (make clients).
package acp

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/beeos/beeos"
)

// model is a server that plays Anthropic's. Asked to "kindly-write PATH" it uses the tool
// Write once, and says how that went when it sees the result; asked to "wait" it
// answers nothing until the test ends.
type model struct {
	*httptest.Server
	waiting chan struct{} // hears of each request that waits

	mu    sync.Mutex
	asked []string // which models
}

func newModel(t *testing.T) *model {
	t.Helper()
	m := &model{waiting: make(chan struct{}, 16)}
	m.Server = httptest.NewServer(http.HandlerFunc(m.answer))
	t.Cleanup(func() {
		m.CloseClientConnections()
		m.Close()
	})
	return m
}

// wasAsked reports whether a model of this family was asked.
func (m *model) wasAsked(family string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.ContainsFunc(m.asked, func(name string) bool { return strings.Contains(name, family) })
}

// block is a piece of what a model says.
type block struct {
	Type  string `json:"type"`
	Text  string `json:"text,omitempty"`
	ID    string `json:"id,omitempty"`
	Name  string `json:"name,omitempty"`
	Input any    `json:"input,omitempty"`
}

var writeWhat = regexp.MustCompile(`kindly-write ([^\s"\\]+)`)

func (m *model) answer(w http.ResponseWriter, r *http.Request) {
	var q struct {
		Model    string
		Stream   bool
		Messages json.RawMessage
		Tools    []struct{ Name string }
	}
	if json.NewDecoder(r.Body).Decode(&q) != nil || !strings.HasPrefix(r.URL.Path, "/v1/messages") || strings.Contains(r.URL.Path, "count_tokens") {
		http.NotFound(w, r)
		return
	}
	m.mu.Lock()
	m.asked = append(m.asked, q.Model)
	m.mu.Unlock()
	said := string(q.Messages)
	if strings.Contains(said, "wait for me") {
		m.waiting <- struct{}{}
		<-r.Context().Done()
		return
	}
	blocks, reason := []block{{Type: "text", Text: "Hello."}}, "end_turn"
	// The prompts of a session follow each other: what was asked last counts.
	last := strings.LastIndex(said, "kindly-write ")
	result := strings.LastIndex(said, `"tool_result"`)
	switch path := writeWhat.FindStringSubmatch(said[max(last, 0):]); {
	case path == nil || len(q.Tools) == 0:
	case result > last && strings.Contains(said[result:], `"is_error":true`):
		blocks[0].Text = "Not written."
	case result > last:
		blocks[0].Text = "Written."
	default:
		blocks[0].Text = "I write it."
		blocks = append(blocks, block{Type: "tool_use", ID: "toolu_" + beeos.NewID(), Name: "Write", Input: map[string]string{"file_path": path[1], "content": "from the model\n"}})
		reason = "tool_use"
	}
	message := map[string]any{
		"id": "msg_" + beeos.NewID(), "type": "message", "role": "assistant", "model": q.Model, "content": []block{},
		"usage": map[string]int{"input_tokens": 100, "output_tokens": 1},
	}
	if !q.Stream {
		message["content"], message["stop_reason"] = blocks, reason
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(message)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	send := func(kind string, v map[string]any) {
		v["type"] = kind
		raw, _ := json.Marshal(v)
		fmt.Fprintf(w, "event: %s\ndata: %s\n\n", kind, raw)
	}
	send("message_start", map[string]any{"message": message})
	for i, b := range blocks {
		whole, delta := b, map[string]any{"type": "text_delta", "text": b.Text}
		whole.Text = ""
		if b.Type == "tool_use" {
			input, _ := json.Marshal(b.Input)
			whole.Input, delta = map[string]any{}, map[string]any{"type": "input_json_delta", "partial_json": string(input)}
		}
		begin := map[string]any{"type": whole.Type, "text": ""}
		if b.Type == "tool_use" {
			begin = map[string]any{"type": whole.Type, "id": whole.ID, "name": whole.Name, "input": whole.Input}
		}
		send("content_block_start", map[string]any{"index": i, "content_block": begin})
		send("content_block_delta", map[string]any{"index": i, "delta": delta})
		send("content_block_stop", map[string]any{"index": i})
	}
	send("message_delta", map[string]any{"delta": map[string]any{"stop_reason": reason}, "usage": map[string]int{"output_tokens": 7}})
	send("message_stop", map[string]any{})
}
