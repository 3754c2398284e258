package rest_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/beeos/beeos"
)

type channelJSON struct {
	ID     string `json:"channel_id"`
	State  string
	Reason string `json:"closed_reason"`
}

type messageJSON struct {
	ID        string `json:"message_id"`
	Offset    int64
	Type      string
	Body      string
	InReplyTo string `json:"in_reply_to"`
}

type messagesJSON struct {
	Messages []messageJSON
	Latest   int64  `json:"latest_offset"`
	Next     string `json:"next_since"`
	More     bool   `json:"has_more"`
}

func TestSendListAndCloseChannel(t *testing.T) {
	s := start(t)
	s.echo()
	ch := ok[channelJSON](s, "POST", "/channels", `{"agent_id":"`+s.agent+`","metadata":{"ticket":"7"}}`)
	if ch.State != "active" || !strings.HasPrefix(ch.ID, "ch-") {
		t.Fatalf("created %+v", ch)
	}
	path := "/channels/" + ch.ID
	first := ok[messageJSON](s, "POST", path+"/messages", `{"body":"one","idempotency_key":"k"}`)
	reply := ok[messageJSON](s, "POST", path+"/wait", `{"in_reply_to":"`+first.ID+`","timeout_ms":5000}`)
	if reply.Type != "agent_reply" || reply.Body != "you said: one" || reply.InReplyTo != first.ID || reply.Offset <= first.Offset {
		t.Errorf("reply = %+v to %+v", reply, first)
	}
	if again := ok[messageJSON](s, "POST", path+"/messages", `{"body":"one","idempotency_key":"k"}`); again.ID != first.ID {
		t.Errorf("repeated send is %s, want %s", again.ID, first.ID)
	}
	second := ok[messageJSON](s, "POST", path+"/messages", `{"type":"chat_message","body":"two"}`)
	ok[messageJSON](s, "POST", path+"/wait", `{"in_reply_to":"`+second.ID+`"}`)

	page := ok[messagesJSON](s, "GET", path+"/messages?limit=3", "")
	if len(page.Messages) != 3 || !page.More || page.Next != fmt.Sprint(page.Messages[2].Offset) || page.Latest != page.Messages[2].Offset {
		t.Errorf("first page = %+v", page)
	}
	rest := ok[messagesJSON](s, "GET", path+"/messages?since="+page.Next, "")
	if len(rest.Messages) != 1 || rest.More || rest.Messages[0].Body != "you said: two" {
		t.Errorf("second page = %+v", rest)
	}
	if got := ok[channelJSON](s, "GET", path, ""); got.State != "active" {
		t.Errorf("channel = %+v", got)
	}
	for range 2 {
		if a := s.do("DELETE", path, s.key, ""); a.status != 204 {
			t.Errorf("close: %d %s", a.status, a.raw)
		}
	}
	if got := ok[channelJSON](s, "GET", path, ""); got.State != "closed" || got.Reason == "" {
		t.Errorf("closed channel = %+v", got)
	}
	if a := s.do("POST", path+"/messages", s.key, `{"body":"three"}`); a.code != "conflict" {
		t.Errorf("send on a closed channel: %d %s", a.status, a.raw)
	}
	got := frames(t, s.send("GET", path+"/events", s.key, ""))
	if len(got) != 5 || got[4] != `end|{"reason":"channel_closed"}` {
		t.Errorf("events of a closed channel: %q", got)
	}
}

func TestChannelsRefuseBadRequests(t *testing.T) {
	s := start(t)
	ch := ok[channelJSON](s, "POST", "/channels", `{"agent_id":"`+s.agent+`"}`)
	path := "/channels/" + ch.ID
	for _, c := range []struct{ method, path, key, body, code string }{
		{"POST", "/channels", s.key, `{}`, "missing_param"},
		{"POST", "/channels", s.key, `{"agent_id":"agent_nobody"}`, "agent_not_found"},
		{"POST", "/channels", s.other, `{"agent_id":"` + s.agent + `"}`, "agent_not_found"},
		{"POST", "/channels", s.key, `{"agent_id":"` + s.agent + `","kind":"party"}`, "invalid_param"},
		{"POST", "/channels", s.key, `{"agent_id":"` + s.agent + `","deadline_ms":604800001}`, "invalid_param"},
		{"POST", "/channels", s.key, `{"agent_id":"` + s.agent + `","metadata":{"caller_owner_id":"x"}}`, "invalid_param"},
		{"POST", "/channels", s.key, `{"agent_id":"` + s.agent + `","owner":"x"}`, "invalid_body"},
		{"GET", "/channels/ch-nothing", s.key, "", "not_found"},
		{"GET", path, s.other, "", "not_found"},
		{"DELETE", path, s.other, "", "not_found"},
		{"GET", path + "/messages", s.other, "", "not_found"},
		{"GET", path + "/events", s.other, "", "not_found"},
		{"POST", path + "/messages", s.other, `{"body":"x"}`, "not_found"},
		{"POST", path + "/wait", s.other, `{"in_reply_to":"x"}`, "not_found"},
		{"POST", path + "/messages", s.key, `{}`, "invalid_param"},
		{"POST", path + "/messages", s.key, `{"body":"x","payload":{"method":"tools/call"}}`, "invalid_body"},
		{"POST", path + "/messages", s.key, `{"body":"x","parts":{}}`, "invalid_body"},
		{"POST", path + "/messages", s.key, `{"body":"x","metadata":{"protocol":"mcp"}}`, "invalid_param"},
		{"POST", path + "/messages", s.key, `{"type":"agent_reply","body":"forged"}`, "invalid_param"},
		{"POST", path + "/messages", s.key, `{"type":"chat_cancel"}`, "missing_param"},
		{"POST", path + "/messages", s.key, `{"type":"user.continue","body":"x"}`, "missing_param"},
		{"POST", path + "/messages", s.key, `{"type":"user.continue","body":"x","in_reply_to":"unknown"}`, "not_found"},
		{"POST", path + "/messages", s.key, `{"body":"x"}`, "agent_offline"},
		{"GET", path + "/messages?since=-1", s.key, "", "invalid_param"},
		{"GET", path + "/messages?limit=0", s.key, "", "invalid_param"},
		{"POST", path + "/wait", s.key, `{}`, "missing_param"},
		{"POST", path + "/wait", s.key, `{"in_reply_to":"unknown","timeout_ms":1}`, "not_found"},
	} {
		if a := s.do(c.method, c.path, c.key, c.body); a.code != c.code {
			t.Errorf("%s %s %s: %d %s, want %s", c.method, c.path, c.body, a.status, a.raw, c.code)
		}
	}
}

// TestChannelEventsReplayAndFollow follows a channel live: replay, deltas between, then the reply;
// offsets rise throughout, and any of them resumes without loss.
func TestChannelEventsReplayAndFollow(t *testing.T) {
	s := start(t)
	watching := make(chan struct{})
	s.play(func(f beeos.Frame) *beeos.Message {
		if f.Body == "old" {
			return &beeos.Message{Type: beeos.AgentReply, State: beeos.StateCompleted, Body: "older"}
		}
		<-watching
		s.delta(f, 1, "a")
		s.delta(f, 2, "b")
		return &beeos.Message{Type: beeos.AgentReply, State: beeos.StateCompleted, Body: "ab"}
	})
	ch := ok[channelJSON](s, "POST", "/channels", `{"agent_id":"`+s.agent+`"}`)
	path := "/channels/" + ch.ID
	old := ok[messageJSON](s, "POST", path+"/messages", `{"body":"old"}`)
	ok[messageJSON](s, "POST", path+"/wait", `{"in_reply_to":"`+old.ID+`"}`)

	resp := s.send("GET", path+"/events", s.key, "")
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	next := func() (m messageJSON) {
		t.Helper()
		for lines.Scan() {
			if d, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				if err := json.Unmarshal([]byte(d), &m); err != nil {
					t.Fatalf("%s: %v", d, err)
				}
				return m
			}
		}
		t.Fatalf("the stream ended: %v", lines.Err())
		return m
	}
	var got []messageJSON
	for range 2 { // the replay
		got = append(got, next())
	}
	ok[messageJSON](s, "POST", path+"/messages", `{"body":"new"}`)
	got = append(got, next())
	close(watching)
	for range 3 {
		got = append(got, next())
	}
	want := "chat_message old, agent_reply older, chat_message new, agent_reply_delta a, agent_reply_delta b, agent_reply ab"
	var have []string
	for i, m := range got {
		have = append(have, m.Type+" "+m.Body)
		if i > 0 && m.Offset <= got[i-1].Offset {
			t.Errorf("offset %d after %d", m.Offset, got[i-1].Offset)
		}
	}
	if h := strings.Join(have, ", "); h != want {
		t.Errorf("got  %s\nwant %s", h, want)
	}
	// Resume in the middle of the deltas: the reply still comes.
	since := fmt.Sprint(got[3].Offset)
	if rest := ok[messagesJSON](s, "GET", path+"/messages?since="+since, ""); len(rest.Messages) != 1 || rest.Messages[0].Body != "ab" {
		t.Errorf("since a delta: %+v", rest)
	}
	again := s.send("GET", path+"/events", s.key, "", "Last-Event-ID", since)
	defer again.Body.Close()
	lines = bufio.NewScanner(again.Body)
	if m := next(); m.Body != "ab" || m.Offset != got[5].Offset {
		t.Errorf("resumed at %+v", m)
	}
}

// TestEventsEndWithTheirCredential: a stream that was opened with a key says
// nothing more once the key is revoked.
func TestEventsEndWithTheirCredential(t *testing.T) {
	s := start(t)
	s.echo()
	ch := ok[channelJSON](s, "POST", "/channels", `{"agent_id":"`+s.agent+`"}`)
	path := "/channels/" + ch.ID
	made := ok[struct{ ID, Key string }](s, "POST", "/api/v1/api-keys", `{"name":"lost"}`)
	resp := s.send("GET", path+"/events", made.Key, "")
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	ok[messageJSON](s, "POST", path+"/messages", `{"body":"before"}`)
	for lines.Scan() && !strings.Contains(lines.Text(), "agent_reply") { //nolint:revive // until the reply is here
	}
	s.do("DELETE", "/api/v1/api-keys/"+made.ID, s.key, "")
	ok[messageJSON](s, "POST", path+"/messages", `{"body":"after"}`)
	for lines.Scan() {
		if strings.Contains(lines.Text(), "after") {
			t.Fatalf("a revoked key hears %s", lines.Text())
		}
	}
}

func TestCancelMessage(t *testing.T) {
	s := start(t)
	s.play(func(beeos.Frame) *beeos.Message { return nil })
	ch := ok[channelJSON](s, "POST", "/channels", `{"agent_id":"`+s.agent+`"}`)
	m := ok[messageJSON](s, "POST", "/channels/"+ch.ID+"/messages", `{"body":"long work"}`)
	ok[messageJSON](s, "POST", "/channels/"+ch.ID+"/messages", `{"type":"chat_cancel","in_reply_to":"`+m.ID+`","reason":"enough"}`)
	list := ok[messagesJSON](s, "GET", "/channels/"+ch.ID+"/messages", "")
	if len(list.Messages) != 2 || list.Messages[1].Type != "chat_cancel" || list.Messages[1].InReplyTo != m.ID {
		t.Errorf("messages = %+v", list.Messages)
	}
}

// TestWaitTellsNothingAboutOthers: a request of somebody else's is as unknown as one that
// never was, whether it has ended or not.
func TestWaitTellsNothingAboutOthers(t *testing.T) {
	s := start(t)
	turns := s.silent()
	channel := func(key string) string {
		a := s.do("POST", "/channels", key, `{"agent_id":"`+s.agent+`"}`)
		var ch channelJSON
		if err := json.Unmarshal(a.data, &ch); err != nil {
			t.Fatalf("%s: %v", a.raw, err)
		}
		return "/channels/" + ch.ID
	}
	if a := s.do("PATCH", "/api/v1/agents/"+s.agent, s.key, `{"visibility":"public"}`); a.status != 200 {
		t.Fatal(a.raw)
	}
	theirs, mine := channel(s.key), channel(s.other)
	sent := ok[messageJSON](s, "POST", theirs+"/messages", `{"body":"hi"}`)
	<-turns
	wait := func(turn string) answer {
		return s.do("POST", mine+"/wait", s.other, `{"in_reply_to":"`+turn+`","timeout_ms":1}`)
	}
	if unknown, foreign := wait(beeos.NewID()), wait(sent.ID); unknown.code != "not_found" || foreign.code != "not_found" {
		t.Errorf("unknown: %s, somebody else's: %s", unknown.raw, foreign.raw)
	}
}
