package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/beeos/beeos/agent"
)

// TestVisits: a session per key, shared while it is in use, ended when it was
// idle for long or when others need its place.
func TestVisits(t *testing.T) {
	now, opened := time.Now(), 0
	v := visits{now: func() time.Time { return now }, byKey: map[string]*visit{}}
	v.open = func(context.Context, object) (*session, error) {
		opened++
		return newSession(openStreams(MCPOptions{URL: "http://localhost:1"}, logger(agent.Options{})), logger(agent.Options{}), nil), nil
	}
	enter := func(key string) (*session, func()) {
		t.Helper()
		s, leave, err := v.enter(t.Context(), key, nil)
		if err != nil {
			t.Fatal(err)
		}
		return s, leave
	}
	a, leave1 := enter("a")
	again, leave2 := enter("a")
	if a != again || opened != 1 {
		t.Errorf("%d sessions for one key", opened)
	}
	leave1()
	now = now.Add(2 * visitIdle)
	v.sweep()
	if a.over() {
		t.Error("a session that is in use was ended")
	}
	leave2()
	now = now.Add(2 * visitIdle)
	v.sweep()
	if !a.over() || len(v.byKey) != 0 {
		t.Error("an idle session was not ended")
	}

	first, leave := enter("0")
	leave()
	for i := range visitsMost - 1 {
		now = now.Add(time.Second)
		enter(fmt.Sprint(i + 1))
	}
	enter("one more")
	if !first.over() {
		t.Error("the session that was idle did not make room")
	}
	if _, _, err := v.enter(t.Context(), "too many", nil); !errors.Is(err, errFull) {
		t.Errorf("%v", err)
	}
	for _, one := range v.byKey {
		one.users = 0
	}
	v.end()
	if len(v.byKey) != 0 {
		t.Errorf("%d sessions are left", len(v.byKey))
	}
	v.open = func(context.Context, object) (*session, error) { return nil, errAbsent }
	if _, _, err := v.enter(t.Context(), "a", nil); !errors.Is(err, errAbsent) || len(v.byKey) != 0 {
		t.Errorf("%v, %d", err, len(v.byKey))
	}
}

// TestRouting: a question goes to the call on whose stream it came, or to the
// latest; a log message to nobody when nobody can tell whose it is.
func TestRouting(t *testing.T) {
	s := &session{calls: map[jsonrpc.ID]*pending{}}
	hear := hooks{
		ask: func(context.Context, string, json.RawMessage) (json.RawMessage, error) { return nil, nil },
		log: func(json.RawMessage) {},
	}
	one, first := s.begin(hear)
	if s.callOf(jsonrpc.ID{}) != first || s.loggerOf(jsonrpc.ID{}) != first {
		t.Error("the only call was not found")
	}
	_, second := s.begin(hear)
	s.begin(hooks{}) // nobody's: a list
	if s.callOf(one) != first || s.loggerOf(one) != first {
		t.Error("a call was not found by its stream")
	}
	if s.callOf(jsonrpc.ID{}) != second || s.loggerOf(jsonrpc.ID{}) != nil {
		t.Error("without a stream: want the latest for questions, nobody for logs")
	}
	// In the session that all callers share the question may be about
	// somebody else's call, one that its caller has given up included.
	s.shared = true
	if s.callOf(one) != first || s.callOf(jsonrpc.ID{}) != nil {
		t.Error("in a shared session: want the call by its stream, nobody without one")
	}
}

func TestHeaderValue(t *testing.T) {
	for text, want := range map[string]string{
		"eu-west": "eu-west", "": "", " a": "=?base64?IGE=?=", "é": "=?base64?w6k=?=", "a\nb": "=?base64?YQpi?=", "=?base64?eA==?=": "=?base64?PT9iYXNlNjQ/ZUE9PT89?=",
	} {
		if got := headerValue(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
