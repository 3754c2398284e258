//go:build unix

// Package frameworks tests BeeOS with the libraries that people build agents
// with, each connected as its manual says and used without a model: what the
// model would be offered is listed, and what it would call is called. What is
// quick to install runs with all tests, the rest with `make clients`
// (heavy_test.go). docs/reference/clients.md is the list.
package frameworks

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/beeos/beeos/test/apptest"
	"github.com/beeos/beeos/test/python"
)

// What clients tell of a wrong key: the server's words, or only the status.
const (
	ourWords   = "this credential is unknown, expired or revoked; get a new one and send that"
	statusOnly = "401 Unauthorized"
)

// client is one that speaks MCP.
type client struct {
	name         string // of its function in mcp_clients.py or mcp_clients.mjs
	requirements string // the file in requirements
	progress     bool   // it can show progress
	refusal      string // what it says of a wrong key
}

// step is one line of a script.
type step struct {
	Step    string
	Text    string
	Tools   []string
	Seen    []float64
	Pieces  []string // of a streamed answer
	Context string
	Error   string
}

func TestPythonClients(t *testing.T) {
	if testing.Short() {
		t.Skip("installs Python packages")
	}
	testPython(t, []client{
		{"mcp_1", "mcp-1.9.txt", true, statusOnly},
		{"mcp_1_sse", "mcp-1.9.txt", true, statusOnly},
		{"mcp_2", "mcp-2.txt", true, ourWords},
		{"fastmcp", "mcp-2.txt", true, ourWords},
		{"openai_agents", "mcp-2.txt", false, ourWords},
		{"pydantic_ai", "mcp-2.txt", true, ourWords},
	})
}

func testPython(t *testing.T, clients []client) {
	t.Helper()
	app := apptest.Start(t, apptest.Config(t))
	endpoint := app.MCP + "/" + connectHelper(t, app, ping) + "/mcp"
	for _, c := range clients {
		t.Run(c.name+" "+strings.TrimSuffix(c.requirements, ".txt"), func(t *testing.T) {
			checkMCP(t, c, runPython(t, c.requirements, nil, "mcp_clients.py", c.name, endpoint, app.UserKey))
		})
	}
}

// checkMCP: the tools are there, an argument arrives, none is fine too,
// progress is shown by those who can, and a wrong key is told so.
func checkMCP(t *testing.T, c client, got map[string]step) {
	t.Helper()
	for _, tool := range []string{"greet", "ping", "count"} {
		if !slices.Contains(got["list"].Tools, tool) {
			t.Errorf("list: %v, without %s", got["list"].Tools, tool)
		}
	}
	for name, want := range map[string]string{"greet": "Hello, Ada!", "ping": "pong", "count": "one two three"} {
		if got[name].Text != want {
			t.Errorf("%s: %q, want %q", name, got[name].Text, want)
		}
	}
	if seen := got["count"].Seen; c.progress && !slices.Equal(seen, []float64{1, 2, 3}) {
		t.Errorf("progress: %v", seen)
	}
	if !strings.Contains(got["refused"].Error, c.refusal) {
		t.Errorf("a wrong key was told %q, want %q", got["refused"].Error, c.refusal)
	}
}

// runPython runs a script with what a file of requirements lists.
func runPython(t *testing.T, requirements string, told func(step), args ...string) map[string]step {
	t.Helper()
	bin, err := python.Install(t.Context(), read(t, "requirements", requirements))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), runWithin)
	defer cancel()
	return run(t, exec.CommandContext(ctx, bin, args...), told)
}

const runWithin = 2 * time.Minute

// run returns the steps that a script wrote, by their names; told, if there is
// one, hears of each at once. Nothing of this machine's user is seen or changed.
func run(t *testing.T, cmd *exec.Cmd, told func(step)) map[string]step {
	t.Helper()
	home := t.TempDir()
	cmd.Env = append(cmd.Environ(), "HOME="+home, "XDG_CONFIG_HOME="+home, "XDG_DATA_HOME="+home)
	var log bytes.Buffer
	cmd.Stderr = &log
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	got := map[string]step{}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		var s step
		if json.Unmarshal(lines.Bytes(), &s) != nil {
			continue // libraries print, too
		}
		got[s.Step] = s
		if told != nil {
			told(s)
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v after %+v\n%s", err, got, log.String())
	}
	return got
}
