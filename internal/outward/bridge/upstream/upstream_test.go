package upstream_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/beeos/beeos/internal/outward/bridge/upstream"
	"github.com/beeos/beeos/test/bridgetest"
)

func TestReadHeaders(t *testing.T) {
	path := filepath.Join(t.TempDir(), "headers")
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("# mine\nX-Api-Key: " + bridgetest.Secret + "\n\nauthorization: Bearer x:y\n")
	h, err := upstream.ReadHeaders(path)
	if err != nil || h.Get("X-Api-Key") != bridgetest.Secret || h.Get("Authorization") != "Bearer x:y" {
		t.Errorf("%v, %v", h, err)
	}
	write("A: b\n" + bridgetest.Secret + "\n")
	if _, err := upstream.ReadHeaders(path); err == nil || !strings.Contains(err.Error(), ":2 is not a header") || strings.Contains(err.Error(), bridgetest.Secret) {
		t.Error(err)
	}
}

func TestReadSecretEnv(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(path, []byte(bridgetest.Secret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("BRIDGE_TEST_KEY_FILE", path)
	if got, err := upstream.ReadSecretEnv("BRIDGE_TEST_KEY"); err != nil || got != bridgetest.Secret {
		t.Errorf("%q, %v", got, err)
	}
	t.Setenv("BRIDGE_TEST_KEY", "direct")
	if got, err := upstream.ReadSecretEnv("BRIDGE_TEST_KEY"); err != nil || got != "direct" {
		t.Errorf("%q, %v", got, err)
	}
	t.Setenv("BRIDGE_TEST_OTHER_FILE", path+".missing")
	if _, err := upstream.ReadSecretEnv("BRIDGE_TEST_OTHER"); err == nil {
		t.Error("no error for a file that is not there")
	}
}

func TestCommandWords(t *testing.T) {
	for line, want := range map[string]string{
		"./program":                "./program",
		"npx -y server":            "sh|-c|exec npx -y server",
		"run '$HOME/a b' -x":       "sh|-c|exec run '$HOME/a b' -x",
		"A=1 run":                  "sh|-c|A=1 run",
		"cd x && run":              "sh|-c|cd x && run",
		"cat >&2":                  "sh|-c|cat >&2",
		"while read l; do x; done": "sh|-c|while read l; do x; done",
	} {
		var c upstream.Command
		if err := c.UnmarshalText([]byte(line)); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(c.Words(nil), "|"); got != want {
			t.Errorf("%s: %s, want %s", line, got, want)
		}
	}
}
