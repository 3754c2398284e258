//go:build unix

package pythonsdk

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/test/apptest"
	"github.com/beeos/beeos/test/cluster"
	"github.com/beeos/beeos/test/program"
)

// runGenerated writes a project, installs what it asks for, runs its test and its
// agent, calls that and changes it.
func runGenerated(ctx context.Context, t *testing.T, env environment) {
	beeos, err := cluster.BuildOne(ctx, t.TempDir(), "github.com/beeos/beeos/cmd/beeos")
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "greeter")
	runIn(ctx, t, "", beeos, "agent", "new", "greeter", "--lang", "python", "--sdk", env.wheel, "--dir", dir)
	if err := os.Symlink(filepath.Dir(filepath.Dir(env.python)), filepath.Join(dir, ".venv")); err != nil {
		t.Fatal(err)
	}
	runIn(ctx, t, dir, ".venv/bin/python", "-m", "pip", "install", "-q", "--no-index", "-r", "requirements.txt")
	runIn(ctx, t, dir, ".venv/bin/python", "-B", "-m", "unittest")

	cfg := apptest.Config(t)
	app := apptest.Start(t, cfg)
	vars := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "BEEOS_DATA=" + cfg.Data, "PYTHONDONTWRITEBYTECODE=1"}
	agent, err := program.Start("greeter", vars, beeos, "agent", "run", dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { agent.Terminate(20 * time.Second) }) //nolint:errcheck // what it runs must not outlive it
	awaitConnected(ctx, t, agent, 1)
	rest := client.New(app.REST, app.UserKey)
	found, err := rest.Find(ctx, "greeter")
	if err != nil {
		t.Fatal(err)
	}
	say := func(want string) {
		t.Helper()
		if answer, err := rest.Invoke(ctx, found.ID, client.InvokeRequest{Message: "hello"}); err != nil || answer.Text != want {
			t.Errorf("%+v, %v, want %s", answer, err, want)
		}
	}
	say("greeter heard: hello")
	if result, err := rest.CallTool(ctx, found, "greet", json.RawMessage(`{"name":"Ada"}`)); err != nil || result.Text() != "Hello, Ada!" {
		t.Errorf("%+v, %v", result, err)
	}
	file := filepath.Join(dir, "agent.py")
	text, err := os.ReadFile(file)
	if err == nil {
		err = os.WriteFile(file, []byte(strings.Replace(string(text), " heard: ", " understood: ", 1)), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	awaitConnected(ctx, t, agent, 2)
	say("greeter understood: hello")
	if code, err := agent.Terminate(20 * time.Second); err != nil || code != 0 {
		t.Errorf("told to stop, it ended with %d, %v\n%s", code, err, agent.Text())
	}
}

// awaitConnected waits until an agent has said so many times that it is connected.
func awaitConnected(ctx context.Context, t *testing.T, agent *program.Process, times int) {
	t.Helper()
	_, err := agent.Err.Await(ctx, func(string) bool { return strings.Count(strings.Join(agent.Err.All(), "\n"), "connected to") >= times })
	if err != nil {
		t.Fatalf("%v\n%s", err, agent.Text())
	}
}

// runIn runs a program in a folder.
func runIn(ctx context.Context, t *testing.T, dir, path string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s %s: %v\n%s", path, strings.Join(args, " "), err, out)
	}
}
