package rest_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/bus"
)

type conversationJSON struct {
	ID       string `json:"conversation_id"`
	AgentID  string `json:"agent_id"`
	Title    string
	State    string
	Metadata map[string]string
	Model    string `json:"modelOverrideId"`
	Now      string `json:"effectiveModelId"`
}

func (s *stack) convPath() string { return "/api/v1/agents/" + s.agent + "/conversations" }

// TestConversationHoldsMessages: many messages under way, one stream over all of them.
func TestConversationHoldsMessages(t *testing.T) {
	s := start(t)
	turns := s.silent()
	conv := ok[conversationJSON](s, "POST", s.convPath(), `{"title":"Trip","metadata":{"ticket":"7"}}`)
	if conv.Title != "Trip" || conv.State != "active" || conv.Metadata["ticket"] != "7" || conv.AgentID != s.agent {
		t.Fatalf("created %+v", conv)
	}
	path := s.convPath() + "/" + conv.ID
	events := newReader(t, s.send("GET", path+"/events", s.key, ""))
	var frames []beeos.Frame
	for i := range 3 {
		sent := ok[messageJSON](s, "POST", path+"/messages", fmt.Sprintf(`{"message":"m%d"}`, i))
		frames = append(frames, <-turns)
		if m := events.next(); m.ID != sent.ID || m.Body != fmt.Sprintf("m%d", i) {
			t.Fatalf("event %+v, want %s", m, sent.ID)
		}
	}
	for _, i := range []int{1, 0, 2} { // in any order
		s.reply(frames[i], beeos.Message{Type: beeos.AgentReply, State: beeos.StateCompleted, Body: fmt.Sprintf("r%d", i)})
		if m := events.next(); m.Body != fmt.Sprintf("r%d", i) || m.InReplyTo != frames[i].MessageID {
			t.Fatalf("event %+v", m)
		}
	}
	list := ok[messagesJSON](s, "GET", path+"/messages?limit=4", "")
	if len(list.Messages) != 4 || !list.More {
		t.Errorf("messages %+v", list)
	}
	if a := s.do("DELETE", "/channels/"+conv.ID, s.key, ""); a.status != 204 {
		t.Fatalf("close: %s", a.raw)
	}
	again := newReader(t, s.send("GET", path+"/events?since="+fmt.Sprint(list.Latest), s.key, ""))
	for range 2 {
		again.next()
	}
	if end := again.end(); end != `{"reason":"channel_closed"}` {
		t.Errorf("end %s", end)
	}
	if a := s.do("POST", path+"/messages", s.key, `{"message":"x"}`); a.code != "conflict" {
		t.Errorf("send on a closed one: %d %s", a.status, a.raw)
	}
	if got := ok[conversationJSON](s, "GET", path, ""); got.State != "closed" {
		t.Errorf("closed: %+v", got)
	}
}

func TestConversationIdempotency(t *testing.T) {
	s := start(t)
	s.silent()
	create := func(key, body string) answer { return s.do("POST", s.convPath(), s.key, body, "Idempotency-Key", key) }
	first := create("k", `{"title":"a"}`)
	again := create("k", `{"title":"a"}`)
	if again.header.Get("Idempotent-Replayed") != "true" || string(again.data) != string(first.data) || again.status != 201 {
		t.Errorf("repeat: %s, first %s", again.raw, first.raw)
	}
	if a := create("k", `{"title":"b"}`); a.code != "conflict" {
		t.Errorf("another payload: %s", a.raw)
	}
	if a := create("k\xff", `{"title":"a"}`); a.code != "invalid_param" {
		t.Errorf("a key that is no text: %s", a.raw)
	}
	conv := ok[conversationJSON](s, "POST", s.convPath(), "")
	path := s.convPath() + "/" + conv.ID
	if a := s.do("PATCH", path, s.key, `{"title":"x"}`); a.code != "missing_param" {
		t.Errorf("rename without a key: %d %s", a.status, a.raw)
	}
	rename := func(key, title string) answer {
		return s.do("PATCH", path, s.key, `{"title":"`+title+`"}`, "Idempotency-Key", key)
	}
	if a := rename("r", "one"); a.status != 200 || !strings.Contains(a.raw, `"title":"one"`) {
		t.Errorf("rename: %d %s", a.status, a.raw)
	}
	rename("r2", "two")
	if a := rename("r", "one"); a.header.Get("Idempotent-Replayed") != "true" || !strings.Contains(a.raw, `"title":"two"`) {
		t.Errorf("a repeat must not undo: %d %s", a.status, a.raw)
	}
	if a := rename("r", "three"); a.code != "conflict" {
		t.Errorf("another title: %d %s", a.status, a.raw)
	}
	if a := rename("r3", strings.Repeat("x", 257)); a.code != "invalid_param" {
		t.Errorf("long title: %d %s", a.status, a.raw)
	}
	sent := ok[messageJSON](s, "POST", path+"/messages", `{"message":"hi","idempotency_key":"m"}`)
	a := s.do("POST", path+"/messages", s.key, `{"message":"hi"}`, "Idempotency-Key", "m")
	if a.header.Get("Idempotent-Replayed") != "true" || !strings.Contains(a.raw, sent.ID) {
		t.Errorf("message again: %d %s", a.status, a.raw)
	}
}

// TestTwoCreatesUnderOneKeyMakeOneConversation: a client that tries again before its first try
// is answered gets the same conversation from both.
func TestTwoCreatesUnderOneKeyMakeOneConversation(t *testing.T) {
	s := start(t)
	for round := range 30 {
		answers := make([]answer, 4)
		var tries sync.WaitGroup
		for i := range answers {
			tries.Go(func() {
				answers[i] = s.do("POST", s.convPath(), s.key, `{"title":"a"}`, "Idempotency-Key", fmt.Sprint("at once ", round))
			})
		}
		tries.Wait()
		for _, a := range answers {
			if a.status != 201 || string(a.data) != string(answers[0].data) {
				t.Fatalf("%d %s, and %s", a.status, a.raw, answers[0].raw)
			}
		}
	}
}

func TestListConversationsByPage(t *testing.T) {
	s := start(t)
	s.silent()
	var ids []string
	for range 5 {
		ids = append(ids, ok[conversationJSON](s, "POST", s.convPath(), `{}`).ID)
	}
	s.do("DELETE", "/channels/"+ids[0], s.key, "")
	var seen []string
	for next := ""; ; {
		page := ok[struct {
			Conversations []conversationJSON
			Next          string `json:"next_since"`
		}](s, "GET", s.convPath()+"?state=active&limit=3&since="+next, "")
		for _, c := range page.Conversations {
			seen = append(seen, c.ID)
		}
		if next = page.Next; next == "" {
			break
		}
	}
	want := slices.Clone(ids[1:]) // the newest first; those of one millisecond are in no order
	slices.Sort(want)
	slices.Reverse(want)
	if !slices.Equal(seen, want) {
		t.Errorf("active: %v, want %v", seen, want)
	}
	if a := s.do("GET", s.convPath()+"?state=closed", s.key, ""); strings.Count(a.raw, "conversation_id") != 1 || !strings.Contains(a.raw, ids[0]) {
		t.Errorf("closed: %s", a.raw)
	}
}

// TestConversationCancelAndDelete: a message under way keeps its conversation.
func TestConversationCancelAndDelete(t *testing.T) {
	s := start(t)
	turns := s.silent()
	stopped := make(chan string, 1)
	t.Cleanup(s.bus.OnControl(func(c bus.Control) {
		if c.Kind == bus.Cancel {
			stopped <- c.ID
		}
	}))
	conv := ok[conversationJSON](s, "POST", s.convPath(), `{}`)
	path := s.convPath() + "/" + conv.ID
	sent := ok[messageJSON](s, "POST", path+"/messages", `{"message":"long"}`)
	f := <-turns
	if a := s.do("DELETE", path, s.key, ""); a.code != "conflict" {
		t.Errorf("delete while it works: %d %s", a.status, a.raw)
	}
	operation := beeos.NewID()
	a := s.do("POST", path+"/cancel", s.key, `{"target_message_id":"`+sent.ID+`"}`, "X-BeeOS-Operation-Id", operation)
	if a.status != 202 || !strings.Contains(a.raw, operation) || <-stopped != sent.ID {
		t.Errorf("cancel: %d %s", a.status, a.raw)
	}
	for body, code := range map[string]string{
		`{}`: "missing_param", `{"target_message_id":"nothing"}`: "not_found", `{"target":"x"}`: "invalid_body",
	} {
		if a := s.do("POST", path+"/cancel", s.key, body); a.code != code {
			t.Errorf("cancel %s: %d %s", body, a.status, a.raw)
		}
	}
	s.reply(f, beeos.Message{Type: beeos.AgentReplyError, State: beeos.StateCancelled, StopReason: beeos.StopUser, Body: "stopped"})
	if a := s.do("POST", path+"/cancel", s.key, `{"target_message_id":"`+sent.ID+`"}`); a.status != 202 {
		t.Errorf("cancel what has ended: %d %s", a.status, a.raw)
	}
	if a := s.do("DELETE", path, s.key, ""); a.status != 204 {
		t.Errorf("delete: %d %s", a.status, a.raw)
	}
	for _, gone := range []string{path, path + "/messages", s.tasksPath() + "/" + sent.ID} {
		if a := s.do("GET", gone, s.key, ""); a.code != "agent_not_found" {
			t.Errorf("%s after the end: %d %s", gone, a.status, a.raw)
		}
	}
}

// TestConversationModel: only an agent that says so takes a model from its
// callers, and it hears of it with every message.
func TestConversationModel(t *testing.T) {
	s := start(t)
	turns := s.silent()
	conv := ok[conversationJSON](s, "POST", s.convPath(), `{}`)
	path := s.convPath() + "/" + conv.ID
	if a := s.do("PUT", path+"/model", s.key, `{"modelOverrideId":"m1"}`, "Idempotency-Key", "a"); a.code != "conflict" {
		t.Errorf("model: %d %s", a.status, a.raw)
	}
	if a := s.do("POST", path+"/clear", s.key, "", "Idempotency-Key", "a"); a.code != "conflict" {
		t.Errorf("clear: %d %s", a.status, a.raw)
	}
	s.sync(beeos.Definition{Name: "echo", Model: "m0", Capabilities: []byte(`{"modelsSet":true}`)}, beeos.Definition{Name: "asleep"})
	if a := s.do("PUT", path+"/model", s.key, `{"modelOverrideId":"m1"}`, "Idempotency-Key", "b"); a.status != 202 {
		t.Errorf("model: %d %s", a.status, a.raw)
	}
	if got := ok[conversationJSON](s, "GET", path, ""); got.Model != "m1" || got.Now != "m1" {
		t.Errorf("chosen: %+v", got)
	}
	ok[messageJSON](s, "POST", path+"/messages", `{"message":"hi"}`)
	if f := <-turns; !strings.Contains(string(f.Payload), `"model":"m1"`) {
		t.Errorf("the agent hears %s", f.Payload)
	}
	if a := s.do("PUT", path+"/model", s.key, `{"modelOverrideId":null}`, "Idempotency-Key", "c"); a.status != 202 {
		t.Errorf("model: %d %s", a.status, a.raw)
	}
	if got := ok[conversationJSON](s, "GET", path, ""); got.Model != "" || got.Now != "m0" {
		t.Errorf("its own again: %+v", got)
	}
}
