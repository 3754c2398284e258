package mcp

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/invoke"
	"github.com/beeos/beeos/internal/surface/mcp/catalog"
	"github.com/beeos/beeos/internal/surface/mcp/wire"
	"github.com/beeos/beeos/internal/wire/httpd"
	"github.com/beeos/beeos/internal/wire/strictjson"
)

// impatient makes both replicas hand calls over after d.
func (s *stack) impatient(d time.Duration) {
	s.gateway.runner.HandOver, s.replica.runner.HandOver = d, d
}

const finished = `{"content":[{"type":"text","text":"finished"}],"structuredContent":{"n":1}}`

// callIn calls a tool in a session and returns the answer, the last event.
func (s *stack) callIn(t *testing.T, at, session, tool, arguments string) []byte {
	t.Helper()
	resp := s.send(t.Context(), t, at, "clerk", "user", session,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"`+tool+`","arguments":`+arguments+`}}`)
	answer, err := io.ReadAll(resp.Body)
	s.must(err)
	if i := strings.LastIndex(string(answer), "data: {"); i >= 0 {
		answer = []byte(strings.TrimSpace(string(answer[i+6:])))
	}
	return answer
}

// handedOver checks that an answer sends the client away, and returns the id
// to come back with.
func handedOver(t *testing.T, answer []byte) (id string) {
	t.Helper()
	id, _ = strictjson.StringValue([]byte(field(answer, "result", "_meta", "beeos/task", "task_id")))
	if id == "" || field(answer, "result", "_meta", "beeos/task", "status") != `"working"` || !strings.Contains(field(answer, "result", "content"), id) {
		t.Fatalf("not handed over: %s", answer)
	}
	return id
}

// TestHandOver: a client that knows nothing of tasks is told where to fetch the
// result before it gives up, in every revision, and gets at the other replica
// what the call would have returned.
func TestHandOver(t *testing.T) {
	s := newStack(t)
	s.impatient(100 * time.Millisecond)
	sessions := map[string]string{}
	for _, version := range wire.VersionNames[1:wire.V20260728] {
		resp := s.send(t.Context(), t, s.server.URL, "clerk", "user", "",
			`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"`+version+`","capabilities":{}}}`)
		sessions[version] = resp.Header.Get(wire.HeaderSession)
	}
	ids := map[string]string{}
	for version, session := range sessions {
		answer := s.callIn(t, s.server.URL, session, "slow", `{"how":"work"}`)
		id := handedOver(t, answer)
		if field(answer, "result", "structuredContent") != `{"task_id":"`+id+`","status":"working"}` || field(answer, "result", "isError") != "" {
			t.Errorf("%s: %s", version, answer)
		}
		if again := s.callIn(t, s.other.URL, session, "task_result", `{"task_id":"`+id+`"}`); handedOver(t, again) != id {
			t.Errorf("%s, asked too early: %s", version, again)
		}
		ids[version] = id
	}
	_, modern := s.modern(t, s.server.URL, "user", "tools/call", "slow", `{}`, `"name":"slow","arguments":{"how":"work"}`)
	id := handedOver(t, modern)
	if field(modern, "result", "resultType") != `"complete"` {
		t.Errorf("%s", modern)
	}
	s.impatient(20 * time.Second)
	time.AfterFunc(50*time.Millisecond, func() { close(s.later) })
	for version, session := range sessions {
		for range 2 { // while it is worked on, and later
			if got := field(s.callIn(t, s.other.URL, session, "task_result", `{"task_id":"`+ids[version]+`"}`), "result"); got != finished {
				t.Errorf("%s: %s", version, got)
			}
		}
	}
	if _, got := s.modern(t, s.other.URL, "user", "tools/call", "task_result", `{}`, `"name":"`+catalog.FetchToolName+`","arguments":{"task_id":"`+id+`"}`); field(got, "result", "structuredContent") != `{"n":1}` {
		t.Errorf("%s", got)
	}
}

// TestHandOverOfTyped: clients hold a result to its tool's outputSchema unless
// it is an error.
func TestHandOverOfTyped(t *testing.T) {
	s := newStack(t)
	s.impatient(50 * time.Millisecond)
	session := s.handshake(t, "clerk", "user", `{}`)
	answer := s.callIn(t, s.server.URL, session, "typed", `{"how":"work"}`)
	id := handedOver(t, answer)
	if field(answer, "result", "structuredContent") != "" || field(answer, "result", "isError") != "true" {
		t.Errorf("%s", answer)
	}
	close(s.later)
	s.waitTerminal(t, id, "finished")
	if got := field(s.callIn(t, s.other.URL, session, "task_result", `{"task_id":"`+id+`","wait_seconds":0}`), "result"); got != finished {
		t.Error(got)
	}
}

// TestNoHandOver: an agent whose own timeout is shorter, and a caller that
// names no revision, get the documented error.
func TestNoHandOver(t *testing.T) {
	s := newStack(t)
	session := s.handshake(t, "clerk", "user", `{}`)
	if got := s.callIn(t, s.server.URL, session, "silent", `{}`); field(got, "error", "code") != "-32003" {
		t.Errorf("in a session: %s", got)
	}
	s.impatient(50 * time.Millisecond)
	if got := s.callIn(t, s.server.URL, "", "silent", `{}`); field(got, "error", "code") != "-32003" || field(got, "error", "message") != `"Agent reply timeout"` {
		t.Errorf("by curl: %s", got)
	}
}

// TestHandOverComesFirst: it is due before the default timeout of calls.
func TestHandOverComesFirst(t *testing.T) {
	s := newStack(t)
	for timeout, want := range map[time.Duration]time.Duration{0: 50 * time.Second, time.Hour: 50 * time.Second, 30 * time.Second: 25 * time.Second} {
		opt := s.gateway.opt
		opt.HandOver = 0
		opt.Calls = invoke.New(invoke.Options{Agents: s.db.Agents, Approvals: s.db.Approvals, Cluster: s.db.Cluster, Ledger: s.ledger, Bus: s.bus, Timeout: timeout})
		g, err := New(opt)
		s.must(err)
		if g.runner.HandOver != want {
			t.Errorf("with a timeout of %v it is %v", timeout, g.runner.HandOver)
		}
	}
}

// TestHandOverOutlivesReplica: the replica that took the call is gone, and so
// is the client's connection; another, started since, has the result.
func TestHandOverOutlivesReplica(t *testing.T) {
	s := newStack(t)
	ctx, kill := context.WithCancel(t.Context())
	open := func(ctx context.Context) *httptest.Server {
		opt := s.gateway.opt
		opt.Context, opt.HandOver = ctx, 50*time.Millisecond
		g, err := New(opt)
		s.must(err)
		server := httptest.NewServer(&httpd.Handler{Next: g, Log: slog.New(slog.DiscardHandler)})
		t.Cleanup(server.Close)
		return server
	}
	first := open(ctx)
	session := s.handshake(t, "clerk", "user", `{}`)
	id := handedOver(t, s.callIn(t, first.URL, session, "slow", `{"how":"work"}`))
	kill()
	first.Close()
	close(s.later)
	s.waitTerminal(t, id, "finished")
	if got := field(s.callIn(t, open(t.Context()).URL, session, "task_result", `{"task_id":"`+id+`"}`), "result"); got != finished {
		t.Error(got)
	}
}

// TestFetchingClientLeaves: to stop waiting, in whatever way, is not to stop
// the work.
func TestFetchingClientLeaves(t *testing.T) {
	s := newStack(t)
	s.impatient(50 * time.Millisecond)
	session := s.handshake(t, "clerk", "user", `{}`)
	id := handedOver(t, s.callIn(t, s.server.URL, session, "slow", `{"how":"work"}`))
	s.impatient(20 * time.Second)

	server := httptest.NewServer(s.server.Config.Handler)
	ctx, leave := context.WithCancel(t.Context())
	r := s.modernRequest(ctx, t, server.URL, "user", "tools/call", "task_result", `{}`, `"name":"`+catalog.FetchToolName+`","arguments":{"task_id":"`+id+`"}`)
	gone := make(chan error, 1)
	go func() {
		_, err := http.DefaultClient.Do(r)
		gone <- err
	}()
	time.AfterFunc(100*time.Millisecond, leave)
	if err := <-gone; err == nil {
		t.Error("it was answered")
	}
	server.Close() // waits for the handler
	s.goesOn(t, id)

	answered := make(chan []byte, 1)
	go func() {
		answered <- s.callIn(t, s.server.URL, session, "task_result", `{"task_id":"`+id+`"}`)
	}()
	s.until(t, "the wait is cancelled", func() bool {
		s.send(t.Context(), t, s.other.URL, "clerk", "user", session, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
		select {
		case got := <-answered:
			if field(got, "error", "code") != "503" {
				t.Errorf("%s", got)
			}
			return true
		default:
			return false
		}
	})
	s.goesOn(t, id)
	close(s.later)
	s.waitTerminal(t, id, "finished")
}

// until waits for something that has no event of its own.
func (s *stack) until(t *testing.T, what string, is func() bool) {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(30 * time.Second); !is(); <-tick.C {
		if time.Now().After(end) {
			t.Fatal("waited in vain until ", what)
		}
	}
}

// TestFetchRefused: what is not the caller's, not at this agent or not there is
// the same answer.
func TestFetchRefused(t *testing.T) {
	s := newStack(t)
	s.impatient(50 * time.Millisecond)
	session := s.handshake(t, "clerk", "user", `{}`)
	id := handedOver(t, s.callIn(t, s.server.URL, session, "slow", `{"how":"work"}`))
	var answers []string
	for _, tt := range []struct{ agent, key, id string }{
		{"clerk", "user", "nope"}, {"clerk", "user", ""}, {"clerk", "user", beeos.NewID()}, {"clerk", "clerk", id}, {"talker", "user", id},
	} {
		resp := s.send(t.Context(), t, s.server.URL, tt.agent, tt.key, "",
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"`+catalog.FetchToolName+`","arguments":{"task_id":"`+tt.id+`"}}}`)
		body, err := io.ReadAll(resp.Body)
		s.must(err)
		answers = append(answers, string(body))
		if field(body, "error", "code") != "-32602" || field(body, "error", "data", "code") != `"invalid_param"` || string(body) != answers[0] {
			t.Errorf("%+v: %s", tt, body)
		}
	}
	for _, arguments := range []string{`{}`, `{"task_id":5}`, `{"task_id":"` + id + `","wait_seconds":-1}`, `{"task_id":"` + id + `","wait_seconds":"long"}`} {
		if got := s.callIn(t, s.server.URL, session, "task_result", arguments); field(got, "result", "isError") != "true" {
			t.Errorf("%s: %s", arguments, got)
		}
	}
}

// TestHandOverAtUnion, and an ask that comes after it.
func TestHandOverAtUnion(t *testing.T) {
	s := newStack(t)
	s.impatient(100 * time.Millisecond)
	resp, _ := s.all(t, s.server.URL, "user", "", `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{},"roots":{}}}}`)
	session := resp.Header.Get(wire.HeaderSession)
	call := func(at, tool, arguments string) (*http.Response, *bufio.Scanner) {
		return s.all(t, at, "user", session, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"`+tool+`","arguments":`+arguments+`}}`)
	}
	answer := func(resp *http.Response) []byte {
		body, err := io.ReadAll(resp.Body)
		s.must(err)
		if i := strings.LastIndex(string(body), "data: {"); i >= 0 {
			body = []byte(strings.TrimSpace(string(body[i+6:])))
		}
		return body
	}
	first, _ := call(s.server.URL, "clerk__slow", `{"how":"work"}`)
	id := handedOver(t, answer(first))
	close(s.later)
	s.waitTerminal(t, id, "finished")
	second, _ := call(s.other.URL, "task_result", `{"task_id":"`+id+`"}`)
	if got := field(answer(second), "result"); got != finished {
		t.Error(got)
	}
	if got := field(s.callIn(t, s.server.URL, s.handshake(t, "clerk", "user", `{}`), "task_result", `{"task_id":"`+id+`"}`), "result"); got != finished {
		t.Error("at the agent's own endpoint: ", got)
	}

	_, asked := call(s.server.URL, "clerk__slow", `{"how":"asks"}`)
	ev := nextEvent(t, asked)
	for field(ev, "method") != "" { // as many of its two questions as come in time
		ev = nextEvent(t, asked)
	}
	id = handedOver(t, ev)
	s.impatient(20 * time.Second)
	_, events := call(s.other.URL, "task_result", `{"task_id":"`+id+`"}`)
	for range 2 { // the open questions come again
		ask := nextEvent(t, events)
		s.all(t, s.server.URL, "user", session, `{"jsonrpc":"2.0","id":`+field(ask, "id")+`,"result":{"roots":[]}}`)
	}
	if got := string(nextEvent(t, events)); !strings.Contains(got, `{\"result\":{\"roots\":[]}}`) {
		t.Error(got)
	}
}

// TestFetchRounds: a stateless client is asked in rounds of the fetching tool.
func TestFetchRounds(t *testing.T) {
	s := newStack(t)
	s.impatient(50 * time.Millisecond)
	_, answer := s.modern(t, s.server.URL, "user", "tools/call", "slow", askable, `"name":"slow","arguments":{"how":"asks later"}`)
	id := handedOver(t, answer)
	s.impatient(20 * time.Second)
	close(s.later)
	fetch := `"name":"` + catalog.FetchToolName + `","arguments":{"task_id":"` + id + `"}`
	_, answer = s.modern(t, s.other.URL, "user", "tools/call", "task_result", askable, fetch)
	state := field(answer, "result", "requestState")
	if field(answer, "result", "resultType") != `"input_required"` || field(answer, "result", "inputRequests", "two", "method") != `"roots/list"` {
		t.Fatalf("%s", answer)
	}
	_, answer = s.modern(t, s.server.URL, "user", "tools/call", "task_result", askable, fetch+`,"requestState":`+state+`,"inputResponses":{"one":{"action":"accept"},"two":{"roots":[]}}`)
	if !strings.Contains(field(answer, "result", "content"), "accept") {
		t.Errorf("%s", answer)
	}
}

// TestHandOverOnResume: a client that hung up and came back has no more time
// than one that stayed.
func TestHandOverOnResume(t *testing.T) {
	s := newStack(t)
	session := s.handshake(t, "clerk", "user", `{}`)
	resp := s.send(t.Context(), t, s.server.URL, "clerk", "user", session,
		`{"jsonrpc":"2.0","id":"q","method":"tools/call","params":{"name":"typed","arguments":{"how":"later"}}}`)
	all, err := io.ReadAll(resp.Body)
	s.must(err)
	event, _, _ := strings.Cut(strings.TrimPrefix(string(all), "id: "), "\n")
	s.impatient(50 * time.Millisecond)
	r, err := http.NewRequest(http.MethodGet, s.other.URL+"/"+s.agents["clerk"]+"/mcp", nil)
	s.must(err)
	r.Header = http.Header{"Accept": {"text/event-stream"}, "Authorization": {"Bearer " + s.keys["user"]}, wire.HeaderSession: {session}, wire.HeaderLastEvent: {event}}
	resumed, err := http.DefaultClient.Do(r)
	s.must(err)
	defer resumed.Body.Close()
	answer := nextEvent(t, bufio.NewScanner(resumed.Body))
	handedOver(t, answer)
	if field(answer, "id") != `"q"` || field(answer, "result", "isError") != "true" {
		t.Errorf("%s", answer)
	}
}

// TestPollsAreLimited: a credential that looks too often is told when to look
// again, by both ways of looking; others are not affected.
func TestPollsAreLimited(t *testing.T) {
	s := newStack(t)
	id := s.startTask(t, "job", "hang")
	limited := 0
	var answer []byte
	for range 60 {
		if _, answer = s.modern(t, s.server.URL, "user", "tasks/get", id, taskable, `"taskId":"`+id+`"`); field(answer, "error", "code") == "429" {
			limited++
			break
		}
	}
	if limited == 0 || field(answer, "error", "data", "code") != `"rate_limited"` || field(answer, "error", "data", "retry_after_ms") == "" {
		t.Errorf("%s", answer)
	}
}
