package mcp

import (
	"bufio"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/beeos/beeos/internal/surface/mcp/wire"
	"github.com/beeos/beeos/internal/wire/strictjson"
)

// TestFetchLater: an agent lets the client hang up, and the result is fetched
// at the other replica.
func TestFetchLater(t *testing.T) {
	s := newStack(t)
	session := s.handshake(t, "clerk", "user", `{}`)
	resp := s.send(t.Context(), t, s.server.URL, "clerk", "user", session,
		`{"jsonrpc":"2.0","id":"q","method":"tools/call","params":{"name":"slow","arguments":{"how":"later"}}}`)
	all, err := io.ReadAll(resp.Body)
	s.must(err)
	id, rest, _ := strings.Cut(strings.TrimPrefix(string(all), "id: "), "\n")
	if rest != "retry: 500\ndata: \n\n" {
		t.Fatalf("the stream: %q", all)
	}
	get := func(id string) *http.Response {
		r, err := http.NewRequest(http.MethodGet, s.other.URL+"/"+s.agents["clerk"]+"/mcp", nil)
		s.must(err)
		r.Header.Set("Accept", "text/event-stream")
		r.Header.Set("Authorization", "Bearer "+s.keys["user"])
		r.Header.Set(wire.HeaderSession, session)
		r.Header.Set(wire.HeaderLastEvent, id)
		resp, err := http.DefaultClient.Do(r)
		s.must(err)
		t.Cleanup(func() { resp.Body.Close() })
		return resp
	}
	waiting := get(id)
	close(s.later)
	for _, from := range []*http.Response{waiting, get(id)} { // while it runs, and after
		answer := nextEvent(t, bufio.NewScanner(from.Body))
		if field(answer, "id") != `"q"` || !strings.Contains(field(answer, "result"), "later") {
			t.Errorf("%s", answer)
		}
		if more, err := io.ReadAll(from.Body); err != nil || strings.Contains(string(more), "data: {") {
			t.Errorf("after the answer: %q, %v", more, err)
		}
	}
}

// TestOldTransport: the stream is at one replica, the messages come in at the
// other.
func TestOldTransport(t *testing.T) {
	s := newStack(t)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.server.URL+"/"+s.agents["clerk"]+"/sse", nil)
	s.must(err)
	r.Header.Set("Accept", "text/event-stream")
	r.Header.Set("Authorization", "Bearer "+s.keys["user"])
	resp, err := http.DefaultClient.Do(r)
	s.must(err)
	defer resp.Body.Close()
	events := bufio.NewScanner(resp.Body)
	address := string(nextEvent(t, events))
	if !strings.HasPrefix(address, "/"+s.agents["clerk"]+"/messages?session=") {
		t.Fatal(address)
	}
	post := func(key, body string) int {
		t.Helper()
		r, err := http.NewRequest(http.MethodPost, s.other.URL+address, strings.NewReader(body))
		s.must(err)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Authorization", "Bearer "+s.keys[key])
		resp, err := http.DefaultClient.Do(r)
		s.must(err)
		resp.Body.Close()
		return resp.StatusCode
	}
	ask := func(body string) []byte {
		t.Helper()
		if got := post("user", body); got != http.StatusAccepted {
			t.Fatal(got)
		}
		return nextEvent(t, events)
	}
	got := ask(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2024-11-05","capabilities":{"sampling":{}}}}`)
	if field(got, "result", "protocolVersion") != `"2024-11-05"` {
		t.Errorf("%s", got)
	}
	if got = ask(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"web_search","arguments":{"query":"x"}}}`); field(got, "id") != "2" || !strings.Contains(string(got), "web_search") {
		t.Errorf("%s", got)
	}
	if got = ask(`{"jsonrpc":"2.0","id":3,"method":"nope"}`); field(got, "error", "code") != "-32601" {
		t.Errorf("%s", got)
	}
	question := ask(`{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"ask","arguments":{"method":"sampling/createMessage","params":{}}}}`)
	if method, _ := strictjson.StringField(question, "method"); method != "sampling/createMessage" {
		t.Errorf("%s", question)
	}
	if got = ask(`{"jsonrpc":"2.0","id":` + field(question, "id") + `,"result":{"role":"assistant"}}`); field(got, "id") != "4" || !strings.Contains(string(got), "assistant") {
		t.Errorf("%s", got)
	}
	if got := post("clerk", `{"jsonrpc":"2.0","id":5,"method":"ping"}`); got != http.StatusNotFound {
		t.Errorf("somebody else: %d", got)
	}
	hanging := s.nextFrame()
	if got := post("user", `{"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"name":"hang"}}`); got != http.StatusAccepted {
		t.Fatal(got)
	}
	f := <-hanging
	resp.Body.Close()
	s.waitTerminal(t, f.MessageID, "went away")
}
