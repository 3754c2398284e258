//go:build unix

// Package pythonsdk tests the Python SDK as its users get it: a wheel, built and
// installed into an environment that has nothing else (environment_test.go). Its
// types are checked strictly, the program at the top of its README is called over
// MCP, A2A and REST by clients that others wrote (five_lines_test.go), what `beeos
// agent new` writes is run and changed (generated_test.go), what the documents show is
// run (pages_test.go), its own tests run against
// a real server, and beeos agent check tries an agent. With the tag adapters, what
// other frameworks made is served as well, each in an environment of its own
// (adapters_test.go); with the tag clients, its tests run on the oldest Python and
// packages that it takes (oldest_test.go).
package pythonsdk

import (
	"bytes"
	"cmp"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/beeos/beeos/test/cluster"
)

const (
	sdk    = "../../sdk/python"
	within = 8 * time.Minute
)

func TestPythonSDK(t *testing.T) {
	if testing.Short() {
		t.Skip("installs Python packages")
	}
	ctx, cancel := context.WithTimeout(t.Context(), within)
	t.Cleanup(cancel) // after the parallel ones
	env := newEnvironment(ctx, t, "python3", "wheel.txt")
	server, err := cluster.BuildOne(ctx, t.TempDir(), "github.com/beeos/beeos/cmd/beeos")
	if err != nil {
		t.Fatal(err)
	}
	t.Run("five lines", func(t *testing.T) { callFiveLines(ctx, t, env.python) })
	t.Run("pages", func(t *testing.T) { t.Parallel(); followPages(ctx, t, server, env.python) })
	t.Run("generated", func(t *testing.T) { t.Parallel(); runGenerated(ctx, t, env) })
	t.Run("types", func(t *testing.T) {
		t.Parallel()
		run(ctx, t, env.tools, "-m", "mypy", "--strict", "--cache-dir", t.TempDir(), "src", "tests", "reference.py", "../../examples/check/agent.py")
	})
	t.Run("check", func(t *testing.T) {
		t.Parallel()
		checkAgent(ctx, t, server, env.python)
	})
	t.Run("tests", func(t *testing.T) {
		t.Parallel()
		run(ctx, t, env.python, "-m", "pip", "install", "-q", "--no-compile", "-r", absolute(t, "tests.txt"))
		runWith(ctx, t, []string{"BEEOS_BIN=" + server}, env.python, "-m", "pytest")
		// What all adapters must do, without a framework: make adapters has the others.
		runWith(ctx, t, []string{"BEEOS_BIN=" + server, "BEEOS_FRAMEWORK=function"}, env.python, "-m", "pytest", "tests/adapters")
	})
	t.Run("transcripts with orjson", func(t *testing.T) {
		t.Parallel()
		run(ctx, t, env.tools, "-m", "pytest", "-o", "pythonpath=src", "-k", "async", "tests/test_transcripts.py")
	})
}

// checkAgent tries an agent of this SDK: it does all that agents must do, also while
// the server is killed again and again under load (make clients: 20 times), or it itself.
func checkAgent(ctx context.Context, t *testing.T, server, python string) {
	cmd := exec.CommandContext(ctx, server, "agent", "check", "--kills", cmp.Or(os.Getenv("CHECK_KILLS"), "3"), "--timeout", "3m", python, "../../examples/check/agent.py")
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "28 passed, 0 failed, 0 not supported\n") {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Logf("%s", callsOverKills.Find(out))
}

var callsOverKills = regexp.MustCompile(`\d+ calls over \d+ kills`)

// run runs Python in the folder of the SDK.
func run(ctx context.Context, t *testing.T, python string, args ...string) {
	t.Helper()
	runWith(ctx, t, nil, python, args...)
}

// runWith is run with more in the environment.
func runWith(ctx context.Context, t *testing.T, env []string, python string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(ctx, python, args...)
	cmd.Dir = sdk
	cmd.Env = append(append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1"), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("python %s: %v\n%s", strings.Join(args, " "), err, bytes.TrimSpace(out))
	}
}

func absolute(t *testing.T, path string) string {
	t.Helper()
	full, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return full
}
