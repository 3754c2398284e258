package mcp

import (
	"crypto/rand"
	"encoding/base64"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestSessionID(t *testing.T) {
	seal, err := newSealer(newSecret())
	if err != nil {
		t.Fatal(err)
	}
	born := time.Unix(1700000000, 0)
	s := newSession(v20250618, canElicitForm|canSample, born)
	id := seal.sessionID("agent_a", "user:1", s)
	if len(id) > 128 {
		t.Errorf("%d characters are a lot for a header of every request", len(id))
	}
	got, ok := seal.session("agent_a", "user:1", id)
	if !ok {
		t.Fatal("does not open")
	}
	if diff := cmp.Diff(s, got, cmp.AllowUnexported(session{})); diff != "" {
		t.Error(diff)
	}
	other, err := newSealer(newSecret())
	if err != nil {
		t.Fatal(err)
	}
	refused := map[string]func() ([]byte, bool){
		"another principal": func() ([]byte, bool) { return seal.open(sealedSession, "agent_a", "user:2", id) },
		"another agent":     func() ([]byte, bool) { return seal.open(sealedSession, "agent_b", "user:1", id) },
		"another purpose":   func() ([]byte, bool) { return seal.open(sealedAsk, "agent_a", "user:1", id) },
		"another key":       func() ([]byte, bool) { return other.open(sealedSession, "agent_a", "user:1", id) },
		"a moved boundary":  func() ([]byte, bool) { return seal.open(sealedSession, "agent_", "auser:1", id) },
		"nothing":           func() ([]byte, bool) { return seal.open(sealedSession, "agent_a", "user:1", "") },
		"a shorter one":     func() ([]byte, bool) { return seal.open(sealedSession, "agent_a", "user:1", id[:20]) },
	}
	for what, open := range refused {
		if _, ok := open(); ok {
			t.Errorf("%s opens it", what)
		}
	}
	raw, _ := base64.RawURLEncoding.DecodeString(id)
	for i := range raw {
		raw[i] ^= 1
		if _, ok := seal.session("agent_a", "user:1", base64.RawURLEncoding.EncodeToString(raw)); ok {
			t.Errorf("byte %d can be changed", i)
		}
		raw[i] ^= 1
	}
	for range 1000 {
		rand.Read(raw[1:])
		if _, ok := seal.session("agent_a", "user:1", base64.RawURLEncoding.EncodeToString(raw)); ok {
			t.Fatal("a guess opens")
		}
	}
}
