//go:build unix

package typescript

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/test/program"
)

// TestGeneratedProject: what `beeos agent new` writes fits its types, passes its own
// test and runs; a change to it is there at once.
func TestGeneratedProject(t *testing.T) {
	w, s := theProject(t), startServer(t)
	beeos, err := buildServer()
	if err != nil {
		t.Fatal(err)
	}
	packed, err := filepath.Glob(filepath.Join(w.project, "beeos-sdk-*.tgz"))
	if err != nil || len(packed) != 1 {
		t.Fatal(packed, err)
	}
	dir := filepath.Join(t.TempDir(), "greeter")
	mustRun := func(path string, args ...string) {
		t.Helper()
		if _, err := run(t.Context(), filepath.Dir(dir), path, args...); err != nil {
			t.Fatal(err)
		}
	}
	mustRun(beeos, "agent", "new", "greeter", "--lang", "typescript", "--sdk", packed[0])
	if err := os.Symlink(filepath.Join(w.project, "node_modules"), filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	mustRun(w.node, w.packages.Module("typescript/bin/tsc"), "-p", dir)
	mustRun(w.node, "--test", filepath.Join(dir, "answers.test.ts"))

	env := append(slices.Clone(s.env), "PATH="+filepath.Dir(w.node), "XDG_CONFIG_HOME="+filepath.Dir(s.data))
	agent, err := program.Start("greeter", env, beeos, "agent", "run", dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { agent.Terminate(20 * time.Second) }) //nolint:errcheck // what it runs must not outlive it
	awaitConnected(t, agent, 1)
	a := s.find("greeter")
	say := func(want string) {
		t.Helper()
		if answer, err := s.client().Invoke(t.Context(), a.ID, client.InvokeRequest{Message: "hello"}); err != nil || answer.Text != want {
			t.Errorf("%+v, %v, want %s", answer, err, want)
		}
	}
	say("greeter heard: hello")
	if result, err := s.client().CallTool(t.Context(), a, "greet", json.RawMessage(`{"name":"Ada"}`)); err != nil || result.Text() != "Hello, Ada!" {
		t.Errorf("%+v, %v", result, err)
	}
	file := filepath.Join(dir, "answers.ts")
	text, err := os.ReadFile(file)
	if err == nil {
		err = os.WriteFile(file, []byte(strings.Replace(string(text), " heard: ", " understood: ", 1)), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	awaitConnected(t, agent, 2)
	say("greeter understood: hello")
}

// awaitConnected waits until an agent has said so many times that it is connected.
func awaitConnected(t *testing.T, agent *program.Process, times int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	_, err := agent.Err.Await(ctx, func(string) bool {
		return strings.Count(strings.Join(agent.Err.All(), "\n"), "INFO connected") >= times
	})
	if err != nil {
		t.Fatalf("%v\n%s", err, agent.Text())
	}
}
