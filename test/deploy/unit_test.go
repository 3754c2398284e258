package deploy

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// exposure is the most that systemd's own measure of hardening may come to, out of
// a hundred.
const exposure = "25"

// TestUnit has systemd read the unit, where it is installed.
func TestUnit(t *testing.T) {
	unit := read(t, "deploy/systemd/beeos.service")
	for _, words := range []string{"Type=notify", "User=beeos", "StateDirectory=beeos", "WatchdogSec=", "NoNewPrivileges=yes"} {
		if !strings.Contains(unit, words) {
			t.Errorf("the unit does not say %s", words)
		}
	}
	if runtime.GOOS != "linux" {
		return // there is no systemd that could read it
	}
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Fatal("systemd is not here to read the unit; run: scripts/setup.sh")
	}
	path := filepath.Join(t.TempDir(), "beeos.service")
	installed := strings.ReplaceAll(unit, "/usr/bin/beeos serve", "/bin/true") // it must be there
	if err := os.WriteFile(path, []byte(installed), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"verify", "--man=no", "--recursive-errors=no", path}, // without this it is content with unknown words
		{"security", "--offline=true", "--threshold=" + exposure, "--no-pager", path},
	} {
		if out, err := exec.CommandContext(t.Context(), "systemd-analyze", args...).CombinedOutput(); err != nil {
			t.Errorf("systemd-analyze %v: %v\n%s", args, err, out)
		}
	}
	// The check itself sees what it is for.
	if err := os.WriteFile(path, []byte(strings.Replace(installed, "Type=notify", "Type=notify\nTypo=yes", 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := exec.CommandContext(t.Context(), "systemd-analyze", "verify", "--man=no", "--recursive-errors=no", path).Run(); err == nil {
		t.Error("an unknown word was not noticed")
	}
}
