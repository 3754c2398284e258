//go:build unix

// Package clients tests BeeOS with clients that others wrote, while the server
// that opened the session is killed underneath them: the official TypeScript
// libraries in each era that they speak (clients_test.go and talk.mjs), the Go
// library (gosdk_test.go), the Inspector and mcp-remote (programs_test.go); and
// with calls that take longer than clients wait (long_test.go and long.mjs).
// Those that can also get their own tokens (oauth_test.go and authorize.mjs).
package clients

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/beeos/beeos/test/cluster"
	"github.com/beeos/beeos/test/npm"
)

// step is one line of talk.mjs.
type step struct {
	Step    string
	Version string
	Session bool
	Tools   []string
	Seen    []float64
	Text    string
	Error   string
}

const talkWithin = 2 * time.Minute

// TestOfficialClients: list, call, progress, cancel, resource, prompt, a
// question to the person, and going on after kill -9.
func TestOfficialClients(t *testing.T) {
	if testing.Short() {
		t.Skip("starts two servers and PostgreSQL per client")
	}
	tools, err := npm.Install(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	bin := build(t)
	for _, c := range []struct {
		name, library, mode, version string
		session                      bool
	}{
		{"sdk 1.32", "v1", "legacy", "2025-11-25", true},
		{"client 2.4 legacy", "v2", "legacy", "2025-11-25", true},
		{"client 2.4 auto", "v2", "auto", "2026-07-28", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			world := start(t, bin)
			ctx, cancel := context.WithTimeout(t.Context(), talkWithin)
			defer cancel()
			cmd := tools.Node(ctx, "talk.mjs", c.library, c.mode, filepath.Join(tools.Dir, "node_modules"), world.URL)
			cmd.Stderr = os.Stderr
			in, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			seen := map[string]step{}
			lines := bufio.NewScanner(out)
			lines.Buffer(nil, 1<<20)
			for lines.Scan() {
				var s step
				if err := json.Unmarshal(lines.Bytes(), &s); err != nil {
					t.Fatalf("%q: %v", lines.Text(), err)
				}
				seen[s.Step] = s
				if s.Step == "opened" {
					awaitCancel(t, world) // clients send it and do not wait: a node that dies at once may not have had it
					world.Nodes[0].Kill()
					world.Balancer.Use(world.Key, world.Nodes[1])
					if _, err := io.WriteString(in, "go on\n"); err != nil {
						t.Fatal(err)
					}
				}
			}
			if err := cmd.Wait(); err != nil {
				t.Errorf("%v: %s", err, seen["failed"].Error)
			}
			check(t, world, seen, c.version, c.session)
		})
	}
}

// build builds what every cluster runs, once.
func build(t *testing.T) cluster.Options {
	t.Helper()
	o, err := cluster.Build(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// start runs a cluster in which the first half of a conversation is with the
// node that dies.
func start(t *testing.T, bin cluster.Options) *cluster.Cluster {
	t.Helper()
	world, err := cluster.Start(context.Background(), bin) // ends by Stop, after the test's context has
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(world.Stop)
	world.Balancer.Use(world.Key, world.Nodes[0])
	return world
}

// patience is how long anything may take that happens beside a call: progress,
// or that the agent hears of a cancel.
const patience = 30 * time.Second

// awaitCancel waits until the agent has been told of a cancel.
func awaitCancel(t *testing.T, world *cluster.Cluster) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	err := world.Agent.Await(ctx, func(log string) bool { return strings.Contains(log, "INFO cancelled") })
	if err != nil {
		t.Errorf("the agent was not told of the cancel: %v\nthe servers:\n%s\n%s", err, world.Nodes[0].Text(), world.Nodes[1].Text())
	}
}

func check(t *testing.T, world *cluster.Cluster, seen map[string]step, version string, session bool) {
	t.Helper()
	if s := seen["connected"]; s.Version != version || s.Session != session {
		t.Errorf("connected: %+v, want version %s", s, version)
	}
	for _, name := range []string{"list", "list again"} {
		if s := seen[name]; !slices.Contains(s.Tools, "greet") {
			t.Errorf("%s: %v", name, s.Tools)
		}
	}
	for name, want := range map[string]string{
		"call":     "Hello, Ada!",
		"progress": "done",
		"resource": "Watched resource content",
		"prompt":   "Prompt with arguments: arg1='one', arg2='two'",
		"ask":      `User response: action=accept, content={"response":"from a person"}`,
		"after":    "Hello, again!",
	} {
		if s := seen[name]; s.Text != want {
			t.Errorf("%s: %q, want %q", name, s.Text, want)
		}
	}
	if s := seen["progress"]; len(s.Seen) < 3 || !slices.IsSorted(s.Seen) {
		t.Errorf("progress: %v", s.Seen)
	}
	if s := seen["cancel"]; !strings.Contains(s.Error, "enough") {
		t.Errorf("cancel: %q", s.Error)
	}
}
