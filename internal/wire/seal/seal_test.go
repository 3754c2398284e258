package seal_test

import (
	"bytes"
	"testing"

	"github.com/beeos/beeos/internal/wire/seal"
)

func TestSealedSecretOpensOnlyAtItsPlace(t *testing.T) {
	s, err := seal.New(seal.NewKey())
	if err != nil {
		t.Fatal(err)
	}
	sealed, err := s.SealJSON("a secret", "webhook 1")
	if err != nil || bytes.Contains(sealed, []byte("secret")) {
		t.Fatalf("sealed to %q, %v", sealed, err)
	}
	var got string
	if err := s.OpenJSON(sealed, "webhook 1", &got); err != nil || got != "a secret" {
		t.Errorf("opened as %q, %v", got, err)
	}
	if err := s.OpenJSON(sealed, "webhook 2", &got); err == nil {
		t.Error("it opened for another webhook")
	}
	other, err := seal.New(seal.NewKey())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.Open(sealed, "webhook 1"); err == nil {
		t.Error("it opened with another key")
	}
	if _, err := seal.New([]byte("short")); err == nil {
		t.Error("a short key was taken")
	}
}
