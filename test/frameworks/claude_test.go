//go:build unix && clients

package frameworks

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/beeos/beeos/test/apptest"
	"github.com/beeos/beeos/test/npm"
)

// TestClaudeCodeConnects adds servers to the real Claude Code with the commands of
// docs/how-to/connect-claude-code.md, asks it whether it reaches them, and lets a
// model of the test's own call a tool. So no account is needed.
func TestClaudeCodeConnects(t *testing.T) {
	packages, err := npm.InstallLocked(t.Context(), read(t, "node-claude", "package.json"), read(t, "node-claude", "package-lock.json"))
	if err != nil {
		t.Fatal(err)
	}
	programs, err := filepath.Glob(packages.Module("@anthropic-ai/claude-code-*/claude"))
	if err != nil || len(programs) != 1 {
		t.Fatalf("its program for this machine is not among what npm installed: %v, %v", programs, err)
	}
	model := httptest.NewServer(http.HandlerFunc(callGreet))
	t.Cleanup(model.Close)
	home := t.TempDir()
	claude := func(args ...string) string {
		ctx, cancel := context.WithTimeout(t.Context(), runWithin)
		defer cancel()
		cmd := exec.CommandContext(ctx, programs[0], args...)
		cmd.Dir = home
		cmd.Env = append(os.Environ(), "HOME="+home, "CLAUDE_CONFIG_DIR="+home, "DISABLE_AUTOUPDATER=1", "ANTHROPIC_API_KEY=none", "ANTHROPIC_BASE_URL="+model.URL, "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1")
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
	if said := claude("-p", "Greet Ada.", "--allowedTools", "mcp__one__greet"); !strings.Contains(said, "it said: Hello, Ada!") {
		t.Errorf("its model's last words: %s", said)
	}
}

// callGreet is a model that calls the tool greet of the server "one" once it is
// offered, and then says what that said.
func callGreet(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	block, delta, why := `{"type":"text","text":""}`, `{"type":"text_delta","text":"nothing to do"}`, "end_turn"
	switch {
	case strings.Contains(string(body), "Hello, Ada!"):
		delta = `{"type":"text_delta","text":"it said: Hello, Ada!"}`
	case strings.Contains(string(body), `"name":"mcp__one__greet"`):
		block = `{"type":"tool_use","id":"toolu_1","name":"mcp__one__greet","input":{}}`
		delta, why = `{"type":"input_json_delta","partial_json":"{\"name\":\"Ada\"}"}`, "tool_use"
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for _, event := range []string{
		`{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"test","content":[],"usage":{"input_tokens":1,"output_tokens":1}}}`,
		`{"type":"content_block_start","index":0,"content_block":` + block + `}`,
		`{"type":"content_block_delta","index":0,"delta":` + delta + `}`,
		`{"type":"content_block_stop","index":0}`,
		`{"type":"message_delta","delta":{"stop_reason":"` + why + `"},"usage":{"output_tokens":1}}`,
		`{"type":"message_stop"}`,
	} {
		kind, _, _ := strings.Cut(strings.TrimPrefix(event, `{"type":"`), `"`)
		fmt.Fprintf(w, "event: %s\ndata: %s\n\n", kind, event)
	}
}
