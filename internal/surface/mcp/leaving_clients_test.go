package mcp

import (
	"bufio"
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store/agents"
	"github.com/beeos/beeos/internal/surface/mcp/wire"
)

// leaveAfter is how long both replicas wait for a client to return.
func (s *stack) leaveAfter(d time.Duration) {
	s.gateway.runner.LeaveAfter, s.replica.runner.LeaveAfter = d, d
}

// startAndLeave calls a tool in a session, hangs up once the agent works on it,
// and returns its turn and what the stream began with.
func (s *stack) startAndLeave(t *testing.T, session, id, tool, arguments string) (turn, firstEvent string) {
	t.Helper()
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	working := s.nextFrame()
	resp := make(chan *http.Response, 1)
	go func() {
		r := s.request(ctx, t, s.server.URL, "clerk", "user", session,
			`{"jsonrpc":"2.0","id":`+id+`,"method":"tools/call","params":{"_meta":{"progressToken":1},"name":"`+tool+`","arguments":`+arguments+`}}`)
		got, err := http.DefaultClient.Do(r)
		if err != nil {
			got = nil
		}
		resp <- got
	}()
	turn = (<-working).MessageID
	if tool != "hang" { // which says something at once
		return turn, ""
	}
	got := <-resp
	if got == nil {
		t.Fatal("the call was refused")
	}
	lines := bufio.NewScanner(got.Body)
	lines.Scan()
	return turn, strings.TrimPrefix(lines.Text(), "id: ")
}

// TestEndedSessionStopsItsCalls: whoever ends a session wants nothing more of
// it, at whichever replica. Other sessions go on.
func TestEndedSessionStopsItsCalls(t *testing.T) {
	s := newStack(t)
	ended, other := s.handshake(t, "clerk", "user", `{}`), s.handshake(t, "clerk", "user", `{}`)
	turns := map[string]string{}
	for _, session := range []string{ended, other} {
		working := s.nextFrame()
		call := s.request(t.Context(), t, s.server.URL, "clerk", "user", session, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"slow","arguments":{"how":"hang"}}}`)
		go func() {
			if resp, err := http.DefaultClient.Do(call); err == nil {
				resp.Body.Close()
			}
		}()
		turns[session] = (<-working).MessageID
	}
	r := s.request(t.Context(), t, s.other.URL, "clerk", "user", ended, "")
	r.Method = http.MethodDelete
	resp, err := http.DefaultClient.Do(r)
	s.must(err)
	resp.Body.Close()
	if resp.StatusCode != http.StatusNoContent {
		t.Fatal(resp.Status)
	}
	s.waitTerminal(t, turns[ended], "ended its session")
	if done, err := s.ledger.Terminal(t.Context(), turns[other]); done != nil || err != nil {
		t.Errorf("another session's call: %v, %v", done, err)
	}
}

// TestLeftCallsStop: a client of a session that closes its stream and does not
// come back has left, unless it can come back in another way, or the agent's
// owner wants the work done.
func TestLeftCallsStop(t *testing.T) {
	s := newStack(t)
	s.leaveAfter(50 * time.Millisecond)
	session := s.handshake(t, "clerk", "user", `{}`)
	keyed, _ := s.startAndLeave(t, session, "1", "slow", `{"how":"work","idempotency_key":"k"}`)
	goOn, stop := beeos.LeftGoOn, beeos.LeftDefault
	s.setWhenLeft(goOn)
	wanted, _ := s.startAndLeave(t, session, "2", "slow", `{"how":"work"}`)
	s.setWhenLeft(stop)
	for id, tool := range map[string]string{"3": "hang", "4": "slow"} {
		turn, _ := s.startAndLeave(t, session, id, tool, `{"how":"hang"}`)
		s.waitTerminal(t, turn, "went away")
	}
	for name, turn := range map[string]string{"with a key": keyed, "that its owner wants": wanted} {
		if done, err := s.ledger.Terminal(t.Context(), turn); done != nil || err != nil {
			t.Errorf("a call %s: %v, %v", name, done, err)
		}
	}
	close(s.later)
	s.waitTerminal(t, keyed, "finished")
	s.waitTerminal(t, wanted, "finished")
}

// TestReturnedClientKeepsItsCall: a client that resumes its stream, at another
// replica, has not left; when it leaves that stream too, it has.
func TestReturnedClientKeepsItsCall(t *testing.T) {
	s := newStack(t)
	s.leaveAfter(time.Second)
	session := s.handshake(t, "clerk", "user", `{}`)
	turn, event := s.startAndLeave(t, session, "1", "hang", `{}`)
	ctx, leave := context.WithCancel(t.Context())
	r := s.request(ctx, t, s.other.URL, "clerk", "user", session, "")
	r.Method = http.MethodGet
	r.Header.Set("Accept", "text/event-stream")
	r.Header.Set(wire.HeaderLastEvent, event)
	resp, err := http.DefaultClient.Do(r)
	s.must(err)
	defer resp.Body.Close()
	later, _ := s.startAndLeave(t, session, "2", "hang", `{}`)
	s.waitTerminal(t, later, "went away")
	if done, err := s.ledger.Terminal(t.Context(), turn); done != nil || err != nil {
		t.Fatalf("a call whose client has returned: %v, %v", done, err)
	}
	leave()
	s.waitTerminal(t, turn, "went away")
}

func (s *stack) setWhenLeft(w beeos.WhenLeft) {
	_, err := s.db.Agents.Update(s.t.Context(), s.agents["clerk"], agents.Patch{WhenLeft: &w})
	s.must(err)
	s.calls.Forget(s.agents["clerk"])
}

// TestWhoIsToldThatAClientLeft: work that must not be repeated goes on, unless
// the owner says otherwise.
func TestWhoIsToldThatAClientLeft(t *testing.T) {
	for _, tt := range []struct {
		redelivery beeos.Redelivery
		when       beeos.WhenLeft
		told       bool
	}{
		{beeos.RedeliverDefault, beeos.LeftDefault, true},
		{beeos.RedeliverAlways, beeos.LeftDefault, true},
		{beeos.RedeliverBeforeStart, beeos.LeftDefault, true},
		{beeos.RedeliverNever, beeos.LeftDefault, false},
		{beeos.RedeliverNever, beeos.LeftStop, true},
		{beeos.RedeliverAlways, beeos.LeftGoOn, false},
	} {
		a := beeos.Agent{WhenLeft: tt.when, Definition: beeos.Definition{Redelivery: tt.redelivery}}
		if a.StopsWhenLeft() != tt.told {
			t.Errorf("redelivery %q, %q: %v", tt.redelivery, tt.when, !tt.told)
		}
	}
}

// TestHandOverSwitchedOff: callers of an agent whose owner has switched the
// hand-over off wait for its timeout, and hear of no tool that fetches results.
func TestHandOverSwitchedOff(t *testing.T) {
	s := newStack(t)
	s.impatient(50 * time.Millisecond)
	off := false
	_, err := s.db.Agents.Update(t.Context(), s.agents["clerk"], agents.Patch{HandOver: &off})
	s.must(err)
	s.calls.Forget(s.agents["clerk"])
	session := s.handshake(t, "clerk", "user", `{}`)
	if got := s.callIn(t, s.server.URL, session, "silent", `{}`); field(got, "error", "code") != "-32003" || field(got, "error", "data", "code") != `"service_timeout"` {
		t.Errorf("in a session: %s", got)
	}
	if _, got := s.modern(t, s.server.URL, "user", "tools/call", "silent", `{}`, `"name":"silent","arguments":{}`); field(got, "error", "data", "code") != `"service_timeout"` {
		t.Errorf("stateless: %s", got)
	}
	if _, got := s.modern(t, s.server.URL, "user", "tools/list", "", `{}`, ""); strings.Contains(string(got), "task_result") {
		t.Errorf("listed: %s", got)
	}
}
