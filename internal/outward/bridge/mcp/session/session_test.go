package session

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// TestServerMessagesReachTheirCall: a question goes to the call on whose stream it came, or to the
// latest; a log message to nobody when nobody can tell whose it is.
func TestServerMessagesReachTheirCall(t *testing.T) {
	s := &Session{calls: map[jsonrpc.ID]*pendingCall{}}
	hear := Hooks{
		Ask: func(context.Context, string, json.RawMessage) (json.RawMessage, error) { return nil, nil },
		Log: func(json.RawMessage) {},
	}
	one, first := s.beginCall(hear)
	if s.callAskedBy(jsonrpc.ID{}) != first || s.callLoggedBy(jsonrpc.ID{}) != first {
		t.Error("the only call was not found")
	}
	_, second := s.beginCall(hear)
	s.beginCall(Hooks{}) // nobody's: a list
	if s.callAskedBy(one) != first || s.callLoggedBy(one) != first {
		t.Error("a call was not found by its stream")
	}
	if s.callAskedBy(jsonrpc.ID{}) != second || s.callLoggedBy(jsonrpc.ID{}) != nil {
		t.Error("without a stream: want the latest for questions, nobody for logs")
	}
	// In the session that all callers share the question may be about
	// somebody else's call, one that its caller has given up included.
	s.notice = func(string, json.RawMessage) {}
	if s.callAskedBy(one) != first || s.callAskedBy(jsonrpc.ID{}) != nil {
		t.Error("in a shared session: want the call by its stream, nobody without one")
	}
}

func TestEncodeHeaderValue(t *testing.T) {
	for text, want := range map[string]string{
		"eu-west": "eu-west", "": "", " a": "=?base64?IGE=?=", "é": "=?base64?w6k=?=", "a\nb": "=?base64?YQpi?=", "=?base64?eA==?=": "=?base64?PT9iYXNlNjQ/ZUE9PT89?=",
	} {
		if got := encodeHeaderValue(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
