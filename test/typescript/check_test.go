//go:build unix

package typescript

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestCheck: an agent of this SDK does all that agents must do, also while the
// server is killed again and again under load (make clients: 20 times), or it itself.
func TestCheck(t *testing.T) {
	bin, err := buildServer()
	if err != nil {
		t.Fatal(err)
	}
	command := slices.Concat([]string{"agent", "check", "--kills", cmp.Or(os.Getenv("CHECK_KILLS"), "3"), "--timeout", "3m"}, runCommand(t, filepath.Join(theProject(t).project, "agent.js")))
	cmd := exec.CommandContext(t.Context(), bin, command...)
	cmd.Env = append(cmd.Environ(), "HOME="+t.TempDir())
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "28 passed, 0 failed, 0 not supported\n") {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Logf("%s", callsOverKills.Find(out))
}

var callsOverKills = regexp.MustCompile(`\d+ calls over \d+ kills`)
