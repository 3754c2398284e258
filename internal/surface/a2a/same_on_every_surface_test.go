package a2a_test

import (
	"context"
	"strings"
	"testing"
	"time"
)

// TestSameWordsOnEverySurface: MCP, REST and both bindings of A2A give the
// agent's text to the byte.
func TestSameWordsOnEverySurface(t *testing.T) {
	s := start(t)
	prompt := "<b>Grüße</b> & 你好 \u2028 \"quoted\" \\ 😀"
	want := "you said: " + prompt
	quoted := `"<b>Grüße</b> & 你好 \u2028 \"quoted\" \\ 😀"`
	got := map[string]any{
		"A2A":            at(s.rpc("SendMessage", message("words", prompt)), "result", "task", "artifacts", 0, "parts", 0, "text"),
		"A2A, HTTP+JSON": at(s.do("POST", s.url+"/message:send", message("words2", prompt)).json(t), "task", "artifacts", 0, "parts", 0, "text"),
		"A2A, plain":     at(s.do("POST", s.url+"/v1/invoke", `{"message":`+quoted+`}`).json(t), "text"),
		"REST":           at(s.do("POST", s.REST+"/api/v1/agents/"+s.agent+"/invoke", `{"message":`+quoted+`}`).json(t), "data", "text"),
		"MCP": at(s.do("POST", s.MCP+"/"+s.agent+"/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"`+s.agent+`","arguments":{"message":`+quoted+`}}}`,
			"Accept", "application/json, text/event-stream").json(t), "result", "content", 0, "text"),
	}
	for surface, text := range got {
		if text != want {
			t.Errorf("%s: %q, want %q", surface, text, want)
		}
	}
}

// TestOneTaskOnEverySurface: what is begun on one is read, watched and
// cancelled on the other.
func TestOneTaskOnEverySurface(t *testing.T) {
	s := start(t)
	rest := s.REST + "/api/v1/agents/" + s.agent + "/tasks"

	made := s.rpc("SendMessage", `{"message":{"role":"ROLE_USER","messageId":"w1","parts":[{"text":"wait"}]},"configuration":{"returnImmediately":true}}`)
	id, _ := at(made, "result", "task", "id").(string)
	if got := s.do("GET", rest+"/"+id, "").json(t); at(got, "data", "task_id") != id {
		t.Fatalf("A2A's on REST: %v", got)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	events := s.stream(ctx, s.url, `{"jsonrpc":"2.0","id":1,"method":"SubscribeToTask","params":{"id":"`+id+`"}}`)
	if first := <-events; at(first, "result", "task", "id") != id {
		t.Errorf("the stream begins with %v", first)
	}
	if got := s.do("POST", rest+"/"+id+"/cancel", `{}`).json(t); at(got, "data", "status") != "canceled" {
		t.Errorf("cancelled on REST: %v", got)
	}
	var last map[string]any
	for ev := range events {
		last = ev
	}
	if at(last, "result", "statusUpdate", "status", "state") != "TASK_STATE_CANCELED" {
		t.Errorf("the stream ends with %v", last)
	}

	other := at(s.do("POST", rest, `{"message":"wait"}`).json(t), "data", "task_id").(string)
	if got := s.rpc("GetTask", `{"id":"`+other+`"}`); at(got, "result", "id") != other {
		t.Errorf("REST's on A2A: %v", got)
	}
	if got := s.rpc("CancelTask", `{"id":"`+other+`"}`); at(got, "result", "status", "state") != "TASK_STATE_CANCELED" {
		t.Errorf("cancelled on A2A: %v", got)
	}
	if got := s.rpc("CancelTask", `{"id":"`+other+`"}`); at(got, "error", "code") != -32002.0 {
		t.Errorf("cancelled again: %v", got)
	}
	if got := s.rpc("SubscribeToTask", `{"id":"`+other+`"}`); at(got, "error", "code") != -32004.0 {
		t.Errorf("subscribed to its end: %v", got)
	}
}

// TestCancelledTaskEndsCancelled: an agent that answers when it is cancelled, or
// refuses, does not make the task anything but cancelled.
func TestCancelledTaskEndsCancelled(t *testing.T) {
	s := start(t)
	rest := s.REST + "/api/v1/agents/" + s.agent + "/tasks"
	for _, word := range []string{"wait", "finish", "giveup"} {
		made := s.rpc("SendMessage", `{"message":{"role":"ROLE_USER","messageId":"c-`+word+`","parts":[{"text":"`+word+`"}]},"configuration":{"returnImmediately":true}}`)
		id, _ := at(made, "result", "task", "id").(string)
		if got := s.rpc("CancelTask", `{"id":"`+id+`"}`); at(got, "result", "status", "state") != "TASK_STATE_CANCELED" {
			t.Errorf("%s, cancelled on A2A: %v", word, got)
		}
		if got := s.do("GET", rest+"/"+id, "").json(t); at(got, "data", "status") != "canceled" {
			t.Errorf("%s, cancelled on A2A and read on REST: %v", word, got)
		}
		other := at(s.do("POST", rest, `{"message":"`+word+`"}`).json(t), "data", "task_id").(string)
		if got := s.do("POST", rest+"/"+other+"/cancel", `{}`).json(t); at(got, "data", "status") != "canceled" {
			t.Errorf("%s, cancelled on REST: %v", word, got)
		}
		if got := s.rpc("GetTask", `{"id":"`+other+`"}`); at(got, "result", "status", "state") != "TASK_STATE_CANCELED" {
			t.Errorf("%s, cancelled on REST and read on A2A: %v", word, got)
		}
	}
	if got := s.rpc("ListTasks", `{"status":"TASK_STATE_CANCELED"}`); at(got, "result", "totalSize") != 6.0 {
		t.Errorf("listed as cancelled: %v", at(got, "result", "totalSize"))
	}
}

// TestFinalOutcomeIsAlikeOnEverySurface: a task ran out of time under a key. All
// repeats are told that, as a failure that says how to ask anew, and not as
// something that a client would try again by itself.
func TestFinalOutcomeIsAlikeOnEverySurface(t *testing.T) {
	s := start(t)
	rest := s.REST + "/api/v1/agents/" + s.agent
	made := at(s.do("POST", rest+"/tasks", `{"message":"wait","deadline_ms":1,"idempotency_key":"late"}`).json(t), "data", "task_id")
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for range s.stream(ctx, s.url, `{"jsonrpc":"2.0","id":1,"method":"SubscribeToTask","params":{"id":"`+made.(string)+`"}}`) {
	}
	if got := s.do("GET", rest+"/tasks/"+made.(string), "").json(t); at(got, "data", "status") != "timeout" {
		t.Fatalf("the task: %v", got)
	}
	plain := s.do("POST", rest+"/invoke", `{"message":"wait","idempotency_key":"late"}`)
	a2a := s.rpc("SendMessage", message("late", "wait"))
	atOnce := s.rpc("SendMessage", `{"configuration":{"returnImmediately":true},`+message("late", "wait")[1:])
	mcp := s.do("POST", s.MCP+"/"+s.agent+"/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"`+s.agent+`","arguments":{"message":"wait","idempotency_key":"late"}}}`,
		"Accept", "application/json, text/event-stream")
	for surface, got := range map[string]struct{ failed, text any }{
		"REST":         {at(plain.json(t), "data", "is_error"), at(plain.json(t), "data", "text")},
		"A2A":          {at(a2a, "result", "task", "status", "state") == "TASK_STATE_FAILED", at(a2a, "result", "task", "status", "message", "parts", 0, "text")},
		"A2A, at once": {at(atOnce, "result", "task", "status", "state") == "TASK_STATE_FAILED", at(atOnce, "result", "task", "status", "message", "parts", 0, "text")},
		"MCP":          {at(mcp.json(t), "result", "isError"), at(mcp.json(t), "result", "content", 0, "text")},
	} {
		if text, _ := got.text.(string); got.failed != true || !strings.Contains(text, "This is final") {
			t.Errorf("%s: %v %q", surface, got.failed, text)
		}
	}
	if plain.StatusCode != 200 || mcp.StatusCode != 200 {
		t.Errorf("REST %d %s, MCP %d %s", plain.StatusCode, plain.body, mcp.StatusCode, mcp.body)
	}
}
