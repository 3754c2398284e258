//go:build unix && clients

package frameworks

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/beeos/beeos/test/apptest"
	"github.com/beeos/beeos/test/npm"
)

// TestClaudeCodeConnects adds servers to the real Claude Code with the commands of
// docs/how-to/connect-claude-code.md, and asks it whether it reaches them. No
// model is asked, so no account is needed.
func TestClaudeCodeConnects(t *testing.T) {
	packages, err := npm.InstallLocked(t.Context(), read(t, "node-claude", "package.json"), read(t, "node-claude", "package-lock.json"))
	if err != nil {
		t.Fatal(err)
	}
	programs, err := filepath.Glob(packages.Module("@anthropic-ai/claude-code-*/claude"))
	if err != nil || len(programs) != 1 {
		t.Fatalf("its program for this machine is not among what npm installed: %v, %v", programs, err)
	}
	home := t.TempDir()
	claude := func(args ...string) string {
		ctx, cancel := context.WithTimeout(t.Context(), runWithin)
		defer cancel()
		cmd := exec.CommandContext(ctx, programs[0], args...)
		cmd.Dir = home
		cmd.Env = append(os.Environ(), "HOME="+home, "CLAUDE_CONFIG_DIR="+home, "DISABLE_AUTOUPDATER=1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("claude %s: %v\n%s", strings.Join(args[:2], " "), err, out)
		}
		return string(out)
	}
	app := apptest.Start(t, apptest.Config(t))
	endpoint := app.MCP + "/" + connectHelper(t, app, ping) + "/mcp"
	key := "Authorization: Bearer " + app.UserKey
	claude("mcp", "add", "--transport", "http", "without", endpoint)
	claude("mcp", "add", "--transport", "http", "one", endpoint, "--header", key)
	claude("mcp", "add", "--transport", "http", "all", app.MCP+"/mcp", "--header", key)
	listed := claude("mcp", "list")
	for name, want := range map[string]string{"without": "Needs authentication", "one": "Connected", "all": "Connected"} {
		found := false
		for line := range strings.Lines(listed) {
			found = found || strings.HasPrefix(line, name+": ") && strings.Contains(line, want)
		}
		if !found {
			t.Errorf("%s is not listed with %q:\n%s", name, want, strings.ReplaceAll(listed, app.UserKey, "KEY"))
		}
	}
}
