//go:build unix

package clients

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/beeos/beeos/test/apptest"
	"github.com/beeos/beeos/test/python"
)

// TestPythonA2AClientOf03 discovers an agent as a client of 0.3 does, without a
// word about its version, and uses it over both bindings that the card offers.
func TestPythonA2AClientOf03(t *testing.T) {
	if testing.Short() {
		t.Skip("installs Python packages")
	}
	sdk := installPython(t, "a2a-sdk==0.3.26")
	app := apptest.Start(t, apptest.Config(t))
	id := colours(t, app)
	for _, binding := range []string{"JSONRPC", "HTTP+JSON"} {
		t.Run(binding, func(t *testing.T) {
			got := runA2A(t, sdk, "0.3", binding, app.A2A+"/"+id, app.UserKey)
			for name, ok := range map[string]bool{
				"card":     got["card"].Text == "colours" && slices.Contains(got["card"].Kinds, binding),
				"send":     got["send"].Text == "you said: hello there" && got["send"].ID != "",
				"stream":   got["stream"].Text == "you said: one two three" && got["stream"].State == "completed" && got["stream"].Kinds[0] == "task",
				"get":      got["get"].Text == "you said: hello there" && got["get"].Total == 1,
				"parts":    got["parts"].Text == "you said: meta",
				"pause":    got["pause"].State == "input-required" && got["pause"].Text != "",
				"continue": got["continue"].Text == "You chose blue",
				"push":     got["push"].ID == "py" && got["push"].Text == "http://127.0.0.1:9/hook",
				"cancel":   got["cancel"].State == "canceled",
				"extended": got["extended"].Text == "colours",
				"refused":  strings.Contains(got["refused"].Error, "401"),
			} {
				if !ok {
					t.Errorf("%s: %+v", name, got[name])
				}
			}
		})
	}
}

// TestPythonA2AClientOf10 verifies the signatures of cards, a stranger's too,
// has the whole answer in the last chunk, reads tasks and cancels one.
func TestPythonA2AClientOf10(t *testing.T) {
	if testing.Short() {
		t.Skip("installs Python packages")
	}
	sdk := installPython(t, "a2a-sdk[signing]==1.3.0")
	app := apptest.Start(t, apptest.Config(t))
	id := colours(t, app)
	for _, binding := range []string{"JSONRPC", "HTTP+JSON"} {
		t.Run(binding, func(t *testing.T) {
			got := runA2A(t, sdk, "1", binding, app.A2A+"/"+id, app.UserKey)
			const want = "you said: one two three"
			for name, ok := range map[string]bool{
				"card":      got["card"].Text == "colours",
				"anonymous": got["anonymous"].Text != "colours",
				"stream":    got["stream"].Text == want,
				"last":      got["last"].Text == want,
				"send":      got["send"].Text == "you said: hello there" && got["send"].ID != "",
				"get":       got["get"].Text == "you said: hello there",
				"cancel":    got["cancel"].State == "TASK_STATE_CANCELED",
				"refused":   strings.Contains(got["refused"].Error, "401"),
			} {
				if !ok {
					t.Errorf("%s: %+v", name, got[name])
				}
			}
		})
	}
}

// installPython returns a Python that has a package.
func installPython(t *testing.T, requirement string) string {
	t.Helper()
	installed, err := python.Install(t.Context(), []byte(requirement+"\n"))
	if err != nil {
		t.Fatal(err)
	}
	return installed
}

// runA2A runs python_a2a.py and returns its steps by their names.
func runA2A(t *testing.T, sdk string, args ...string) map[string]a2aStep {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, sdk, append([]string{"python_a2a.py"}, args...)...)
	var log strings.Builder
	cmd.Stderr = &log
	out, err := cmd.Output()
	got := map[string]a2aStep{}
	for lines := bufio.NewScanner(strings.NewReader(string(out))); lines.Scan(); {
		var s a2aStep
		if err := json.Unmarshal(lines.Bytes(), &s); err != nil {
			t.Fatalf("%q: %v", lines.Text(), err)
		}
		got[s.Step] = s
	}
	if err != nil {
		t.Fatalf("%v after %s\n%s", err, fmt.Sprint(got), log.String())
	}
	return got
}
