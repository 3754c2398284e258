package sessions

import (
	"crypto/rand"
	"encoding/base64"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/beeos/beeos/internal/surface/mcp/wire"
	"github.com/beeos/beeos/internal/wire/seal"
)

func TestSessionID(t *testing.T) {
	sealer, err := newSealer(seal.NewKey())
	if err != nil {
		t.Fatal(err)
	}
	born := time.Unix(1700000000, 0)
	s := NewSession(wire.V20250618, wire.CanElicitForm|wire.CanSample, born)
	id := sealer.SessionID("agent_a", "user:1", s)
	if len(id) > 128 {
		t.Errorf("%d characters are a lot for a header of every request", len(id))
	}
	got, ok := sealer.session("agent_a", "user:1", id)
	if !ok {
		t.Fatal("does not open")
	}
	if diff := cmp.Diff(s, got, cmp.AllowUnexported(Session{})); diff != "" {
		t.Error(diff)
	}
	other, err := newSealer(seal.NewKey())
	if err != nil {
		t.Fatal(err)
	}
	refused := map[string]func() ([]byte, bool){
		"another principal": func() ([]byte, bool) { return sealer.Open(SealedSession, "agent_a", "user:2", id) },
		"another agent":     func() ([]byte, bool) { return sealer.Open(SealedSession, "agent_b", "user:1", id) },
		"another purpose":   func() ([]byte, bool) { return sealer.Open(SealedAsk, "agent_a", "user:1", id) },
		"another key":       func() ([]byte, bool) { return other.Open(SealedSession, "agent_a", "user:1", id) },
		"a moved boundary":  func() ([]byte, bool) { return sealer.Open(SealedSession, "agent_", "auser:1", id) },
		"nothing":           func() ([]byte, bool) { return sealer.Open(SealedSession, "agent_a", "user:1", "") },
		"a shorter one":     func() ([]byte, bool) { return sealer.Open(SealedSession, "agent_a", "user:1", id[:20]) },
	}
	for what, open := range refused {
		if _, ok := open(); ok {
			t.Errorf("%s opens it", what)
		}
	}
	raw, _ := base64.RawURLEncoding.DecodeString(id)
	for i := range raw {
		raw[i] ^= 1
		if _, ok := sealer.session("agent_a", "user:1", base64.RawURLEncoding.EncodeToString(raw)); ok {
			t.Errorf("byte %d can be changed", i)
		}
		raw[i] ^= 1
	}
	for range 1000 {
		rand.Read(raw[1:])
		if _, ok := sealer.session("agent_a", "user:1", base64.RawURLEncoding.EncodeToString(raw)); ok {
			t.Fatal("a guess opens")
		}
	}
}

// FuzzSession: whatever stands in the header, it opens nothing and breaks
// nothing; nor does anything that was sealed for another purpose.
func FuzzSession(f *testing.F) {
	sealer, err := newSealer(seal.NewKey())
	if err != nil {
		f.Fatal(err)
	}
	f.Add("", []byte{})
	f.Add("AQ", []byte("w\x00\x00\x00\x00\x7f\x00\x00\x00turn\nchannel"))
	f.Fuzz(func(t *testing.T, name string, plain []byte) {
		if _, ok := sealer.session("agent_a", "user:1", name); ok {
			t.Errorf("%q opens", name)
		}
		sealer.session("agent_a", "user:1", sealer.Seal(SealedSession, "agent_a", "user:1", plain)) // must not panic
		if _, ok := sealer.session("agent_a", "user:1", sealer.Seal(SealedState, "agent_a", "user:1", plain)); ok {
			t.Error("a state opens as a session")
		}
	})
}

// TestGuessedSessionIDsOpenNothing: a million guesses open nothing, be they
// noise or close to the real thing.
func TestGuessedSessionIDsOpenNothing(t *testing.T) {
	sealer, err := newSealer(seal.NewKey())
	if err != nil {
		t.Fatal(err)
	}
	real := sealer.SessionID("agent_a", "user:1", NewSession(wire.NewestHandshake, 0, time.Now()))
	raw, err := base64.RawURLEncoding.DecodeString(real)
	if err != nil || len(raw)*8 < 128+128 { // what is random in it, and the tag
		t.Fatalf("%d bytes, %v", len(raw), err)
	}
	for bit := range len(raw) * 8 {
		near := append([]byte(nil), raw...)
		near[bit/8] ^= 1 << (bit % 8)
		if _, ok := sealer.session("agent_a", "user:1", base64.RawURLEncoding.EncodeToString(near)); ok {
			t.Fatalf("it opens with bit %d changed", bit)
		}
	}
	guess := make([]byte, len(raw))
	for range 1_000_000 {
		rand.Read(guess) //nolint:errcheck // never fails
		guess[0] = sealLayout
		if _, ok := sealer.session("agent_a", "user:1", base64.RawURLEncoding.EncodeToString(guess)); ok {
			t.Fatal("a guess opens")
		}
	}
}

func BenchmarkSession(b *testing.B) {
	sealer, err := newSealer(seal.NewKey())
	if err != nil {
		b.Fatal(err)
	}
	id := sealer.SessionID("agent_a", "user:1", NewSession(wire.NewestHandshake, wire.CanSample, time.Unix(0, 0)))
	b.ReportAllocs()
	for b.Loop() {
		if _, ok := sealer.session("agent_a", "user:1", id); !ok {
			b.Fatal("does not open")
		}
	}
}
