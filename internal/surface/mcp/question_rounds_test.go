package mcp

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/beeos/beeos/internal/surface/mcp/wire"
	"github.com/beeos/beeos/internal/wire/strictjson"
)

// modern posts a stateless request: capabilities as given, the rest of the
// params in more.
func (s *stack) modern(t *testing.T, at, key, method, name, capabilities, more string) (status int, answer []byte) {
	t.Helper()
	resp := s.modernStream(t.Context(), t, at, key, method, name, capabilities, more)
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if i := strings.LastIndex(string(answer), "data: "); i >= 0 { // the last event of a stream
		answer = []byte(strings.TrimSpace(string(answer[i+6:])))
	}
	return resp.StatusCode, answer
}

func (s *stack) modernStream(ctx context.Context, t *testing.T, at, key, method, name, capabilities, more string) *http.Response {
	t.Helper()
	resp, err := http.DefaultClient.Do(s.modernRequest(ctx, t, at, key, method, name, capabilities, more))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	return resp
}

func (s *stack) modernRequest(ctx context.Context, t *testing.T, at, key, method, name, capabilities, more string) *http.Request {
	t.Helper()
	body := `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":{"_meta":{"` + wire.MetaVersion + `":"2026-07-28","` + wire.MetaCapabilities + `":` + capabilities + `}`
	if more != "" {
		body += "," + more
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, at+"/"+s.agents["clerk"]+"/mcp", strings.NewReader(body+"}}"))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("Authorization", "Bearer "+s.keys[key])
	r.Header.Set(wire.HeaderVersion, "2026-07-28")
	r.Header.Set(wire.HeaderMethod, method)
	if name != "" {
		r.Header.Set(wire.HeaderName, name)
	}
	return r
}

const askable = `{"elicitation":{},"roots":{}}`

func field(answer []byte, path ...string) string {
	for _, step := range path {
		answer = strictjson.Field(answer, step)
	}
	return string(answer)
}

// TestRounds: the questions of an agent are results, and the answers find it
// at the other replica.
func TestRounds(t *testing.T) {
	s := newStack(t)
	call := func(at, how, more string) []byte {
		t.Helper()
		_, answer := s.modern(t, at, "user", "tools/call", "rounds", askable, `"name":"rounds","arguments":{"how":"`+how+`"}`+more)
		return answer
	}
	state := func(answer []byte) string {
		t.Helper()
		if got := field(answer, "result", "resultType"); got != `"input_required"` {
			t.Fatalf("resultType %s in %s", got, answer)
		}
		return `,"requestState":` + field(answer, "result", "requestState")
	}

	t.Run("together", func(t *testing.T) {
		first := call(s.server.URL, "together", "")
		requests := field(first, "result", "inputRequests")
		if field([]byte(requests), "one", "method") != `"elicitation/create"` || field([]byte(requests), "two", "method") != `"roots/list"` {
			t.Errorf("inputRequests %s", requests)
		}
		second := call(s.other.URL, "together", state(first)+`,"inputResponses":{"one":{"action":"accept"},"other":{}}`)
		if got := field(second, "result", "inputRequests"); got != `{"two":{"method":"roots/list"}}` {
			t.Errorf("still asked: %s", got)
		}
		third := call(s.server.URL, "together", state(second)+`,"inputResponses":{"two":{"roots":[]}}`)
		if got := field(third, "result", "content"); !strings.Contains(got, `accept`) || !strings.Contains(got, `roots`) {
			t.Errorf("answered: %s", third)
		}
		if again := call(s.other.URL, "together", state(second)+`,"inputResponses":{}`); field(again, "result", "content") != field(third, "result", "content") {
			t.Errorf("the same round again: %s", again)
		}
	})
	t.Run("one after the other", func(t *testing.T) {
		first := call(s.server.URL, "after", "")
		second := call(s.other.URL, "after", state(first)+`,"inputResponses":{"one":{"n":1}}`)
		if state(first) == state(second) {
			t.Error("the state did not change")
		}
		third := call(s.server.URL, "after", state(second)+`,"inputResponses":{"two":{"n":2}}`)
		if got := field(third, "result", "content"); !strings.Contains(got, `{\"n\":1}`) || !strings.Contains(got, `{\"n\":2}`) {
			t.Errorf("answered: %s", third)
		}
	})
	t.Run("answers with the first call", func(t *testing.T) {
		answer := call(s.server.URL, "after", `,"inputResponses":{"one":{"n":1},"two":{"n":2},"odd":{}}`)
		if got := field(answer, "result", "resultType"); got != `"complete"` {
			t.Errorf("%s", answer)
		}
	})
	t.Run("in a new turn", func(t *testing.T) {
		first := call(s.server.URL, "again", "")
		second := call(s.other.URL, "again", state(first)+`,"inputResponses":{"one":{"n":1}}`)
		if got := field(second, "result", "content"); !strings.Contains(got, `s1{\"n\":1}`) {
			t.Errorf("answered: %s", second)
		}
	})
}

// TestRoundsRefused: a state opens for its own request alone, and a client is
// asked only what it can answer.
func TestRoundsRefused(t *testing.T) {
	s := newStack(t)
	_, first := s.modern(t, s.server.URL, "user", "tools/call", "rounds", askable, `"name":"rounds"`)
	state := field(first, "result", "requestState")
	tampered := state[:len(state)-4] + `xx"`
	for _, tt := range []struct{ what, key, name, capabilities, more, code string }{
		{"tampered", "user", "rounds", askable, `"requestState":` + tampered, "-32602"},
		{"not a string", "user", "rounds", askable, `"requestState":5`, "-32602"},
		{"another principal", "clerk", "rounds", askable, `"requestState":` + state, "-32602"},
		{"another tool", "user", "what", askable, `"requestState":` + state, "-32602"},
		{"input is null", "user", "rounds", askable, `"inputResponses":null`, "-32602"},
		{"input of a number", "user", "rounds", askable, `"inputResponses":{"one":5}`, "-32602"},
		{"cannot be asked", "user", "rounds", `{"sampling":{}}`, `"arguments":{}`, "-32021"},
		{"the agent says so", "user", "rounds", askable, `"arguments":{"how":"fault"}`, "-32021"},
	} {
		_, answer := s.modern(t, s.server.URL, tt.key, "tools/call", tt.name, tt.capabilities, `"name":"`+tt.name+`",`+tt.more)
		if got := field(answer, "error", "code"); got != tt.code {
			t.Errorf("%s: %s", tt.what, answer)
		}
	}
	s.ahead.Store(int64(2 * time.Hour))
	if _, answer := s.modern(t, s.server.URL, "user", "tools/call", "rounds", askable, `"name":"rounds","requestState":`+state); field(answer, "error", "code") != "-32602" {
		t.Errorf("an old state: %s", answer)
	}
}

// TestPaused: an agent that waits for a person whom this client cannot ask.
func TestPaused(t *testing.T) {
	s := newStack(t)
	_, answer := s.modern(t, s.server.URL, "user", "tools/call", "rounds", `{"sampling":{}}`, `"name":"rounds","arguments":{"how":"pause"}`)
	if field(answer, "result", "isError") != "true" || !strings.Contains(string(answer), "which?") {
		t.Errorf("%s", answer)
	}
	_, answer = s.modern(t, s.server.URL, "user", "tools/call", "rounds", askable, `"name":"rounds","arguments":{"how":"pause"}`)
	if field(answer, "result", "inputRequests", "p", "method") != `"elicitation/create"` {
		t.Errorf("%s", answer)
	}
}

// TestRoundsInASession: the same agent, and a client that is asked on the
// stream of its call.
func TestRoundsInASession(t *testing.T) {
	s := newStack(t)
	session := s.handshake(t, "clerk", "user", `{"elicitation":{}}`)
	const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"rounds","arguments":{"idempotency_key":"k"}}}`
	events := bufio.NewScanner(s.send(t.Context(), t, s.server.URL, "clerk", "user", session, call).Body)
	ask := nextEvent(t, events)
	s.send(t.Context(), t, s.other.URL, "clerk", "user", session, `{"jsonrpc":"2.0","id":`+field(ask, "id")+`,"result":{"action":"accept"}}`)
	if got := string(nextEvent(t, events)); !strings.Contains(got, `s1{\"action\":\"accept\"}`) {
		t.Error(got)
	}
	mute := s.handshake(t, "clerk", "user", `{}`)
	got, err := io.ReadAll(s.send(t.Context(), t, s.server.URL, "clerk", "user", mute, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"rounds"}}`).Body)
	if err != nil || !strings.Contains(string(got), `"isError":true`) {
		t.Errorf("%s, %v", got, err)
	}
}

// TestRoundsAreIdempotent: the key of the call holds for the whole of it.
func TestRoundsAreIdempotent(t *testing.T) {
	s := newStack(t)
	call := func(more string) []byte {
		_, answer := s.modern(t, s.server.URL, "user", "tools/call", "rounds", askable, `"name":"rounds","arguments":{"idempotency_key":"k"}`+more)
		return answer
	}
	first := call("")
	if again := call(""); field(again, "result", "resultType") != `"input_required"` || len(s.frames()) != 1 {
		t.Errorf("the first round again: %s, %d turns", again, len(s.frames()))
	}
	second := `,"inputResponses":{"one":{}},"requestState":` + field(first, "result", "requestState")
	for range 2 {
		if got := call(second); !strings.Contains(field(got, "result", "content"), "s1{}") || len(s.frames()) != 2 {
			t.Errorf("the second round: %s, %d turns", got, len(s.frames()))
		}
	}
}

// TestModernDisconnectCancels: since 2026-07-28 to leave is to cancel.
func TestModernDisconnectCancels(t *testing.T) {
	s := newStack(t)
	ctx, cancel := context.WithCancel(t.Context())
	r := s.modernRequest(ctx, t, s.server.URL, "user", "tools/call", "hang", `{}`, `"name":"hang","arguments":{"idempotency_key":"k"}`)
	hanging := s.nextFrame()
	var working sync.WaitGroup
	working.Go(func() {
		if resp, err := http.DefaultClient.Do(r); err == nil {
			resp.Body.Close()
		}
	})
	f := <-hanging
	cancel()
	working.Wait()
	s.waitTerminal(t, f.MessageID, "went away")
}

// TestCancelWhileAsked: an agent has ended its turn with a question, and the
// client does not want the answer any more. The call is over then, also for
// the agent, whatever is answered later.
func TestCancelWhileAsked(t *testing.T) {
	s := newStack(t)
	session := s.handshake(t, "clerk", "user", `{"elicitation":{}}`)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	resp := s.send(ctx, t, s.server.URL, "clerk", "user", session, `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"rounds"}}`)
	stream := bufio.NewScanner(resp.Body)
	question := nextEvent(t, stream)
	s.send(t.Context(), t, s.other.URL, "clerk", "user", session, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`)
	if end := nextEvent(t, stream); field(end, "id") != "7" {
		t.Errorf("%s", end)
	}
	before := len(s.frames())
	s.send(t.Context(), t, s.other.URL, "clerk", "user", session, `{"jsonrpc":"2.0","id":`+field(question, "id")+`,"result":{"action":"accept","content":{}}}`)
	s.callIn(t, s.server.URL, session, "web_search", `{"query":"x"}`)
	if after := len(s.frames()); after != before+1 {
		t.Errorf("%d messages for the agent after the call was cancelled", after-before)
	}
}
