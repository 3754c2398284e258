//go:build linux && clients

package acp_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/beeos/beeos/internal/outward/bridge/acp"
	"github.com/beeos/beeos/internal/outward/bridge/settings"
	"github.com/beeos/beeos/test/bridgetest"
)

// TestSandboxConfines the program's own tools and its terminals to the folder, and to
// what the operator adds. It needs bubblewrap.
func TestSandboxConfines(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	secret := filepath.Join(home, "secret")
	if err := os.WriteFile(secret, []byte("hush"), 0o600); err != nil {
		t.Fatal(err)
	}
	kept := filepath.Join(home, "kept")
	if err := os.Mkdir(kept, 0o700); err != nil {
		t.Fatal(err)
	}
	s := connect(t, "x", acp.Options{Sandbox: true, Read: []string{filepath.Dir(self)}, Write: []string{kept}, Allow: []string{"terminal"}})
	for _, way := range []string{"sh", "terminal"} {
		for command, want := range map[string]string{
			"echo in >" + s.dir + "/" + way + "; cat " + s.dir + "/" + way: "in",
			"echo in >" + kept + "/" + way + "; cat " + kept + "/" + way:   "in",
			"cat " + secret:                        "No such file",
			"echo x >/etc/x":                       "Read-only file system",
			"echo x >" + filepath.Dir(self) + "/x": "Read-only file system",
			"echo x >" + home + "/x; echo out":     "out", // into a home that is not there afterwards
			"LD_PRELOAD= ls /tmp | grep -c secret": "0",
		} {
			if got := s.say(way + " " + command); !strings.Contains(got.Text, want) {
				t.Errorf("%s %s: %s, want %s", way, command, got.Text, want)
			}
		}
		if text, err := os.ReadFile(filepath.Join(kept, way)); err != nil || string(text) != "in\n" {
			t.Errorf("%q, %v", text, err)
		}
	}
	if _, err := os.Stat(filepath.Join(home, "x")); err == nil {
		t.Error("it wrote into the home")
	}
	missing := acp.Options{Sandbox: true, Cwd: s.dir, Command: bridgetest.Command(filepath.Join(home, "program"))}
	if err := missing.Run(t.Context(), settings.Bridge{}); err == nil || !strings.Contains(err.Error(), "is not there in the sandbox; name the folder") {
		t.Error(err)
	}
}
