//go:build unix && upgrade

package upgrade

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/beeos/beeos/test/npm"
	"github.com/beeos/beeos/test/program"
	"github.com/beeos/beeos/test/python"
)

// The first commits whose other SDKs agents may still have.
const (
	firstPython     = "bec3d123"
	firstTypeScript = "93614909"
)

// TestFirstSDKInPython is TestFirstSDK for an agent in Python.
func TestFirstSDKInPython(t *testing.T) {
	requirements, err := os.ReadFile(filepath.Join(root, "test/pythonsdk/wheel.txt"))
	if err != nil {
		t.Fatal(err)
	}
	interpreter, err := python.Install(t.Context(), requirements)
	if err != nil {
		t.Fatal(err)
	}
	tree := unpackPart(t, firstPython, "sdk/python/src")
	tellAgent(t, []string{"PYTHONPATH=" + filepath.Join(tree, "sdk/python/src")}, interpreter, filepath.Join(root, "test/upgrade/agents/agent.py"))
}

// TestFirstSDKInTypeScript is TestFirstSDK for an agent in TypeScript.
func TestFirstSDKInTypeScript(t *testing.T) {
	tools, err := npm.Install(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	tree := unpackPart(t, firstTypeScript, "sdk/typescript")
	node := tools.Node(t.Context()).Path
	tellAgent(t, nil, node, filepath.Join(root, "test/upgrade/agents/agent.ts"), filepath.Join(tree, "sdk/typescript/src/index.ts"))
}

// unpackPart brings a folder back as it was at a commit.
func unpackPart(t *testing.T, commit, folder string) (tree string) {
	t.Helper()
	tree = t.TempDir()
	unpack := exec.CommandContext(t.Context(), "sh", "-c", `git -C "$1" archive "$2" "$3" > "$4/part.tar" && tar -x -f "$4/part.tar" -C "$4"`, "sh", root, commit, folder, tree)
	if out, err := unpack.CombinedOutput(); err != nil {
		t.Fatalf("read %s of commit %s; is the history here? git fetch --unshallow: %v\n%s", folder, commit, err, out)
	}
	return tree
}

// tellAgent has an agent at today's server do all that an agent can do.
func tellAgent(t *testing.T, env []string, path string, args ...string) {
	t.Helper()
	now := buildTree(t)
	f := newFleet(t, 1, now)
	p, err := program.Start("agent", append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "AGENT_GATEWAY_URL=" + f.nodes[0].Agents, "BEEOS_KEY=" + f.key,
	}, env...), path, args...)
	if err != nil {
		t.Fatal(err)
	}
	a := &Agent{Process: p}
	t.Cleanup(a.Kill)
	ctx, cancel := context.WithTimeout(t.Context(), startWithin)
	defer cancel()
	line, err := a.Out.Await(ctx, func(line string) bool { return strings.HasPrefix(line, "connected ") })
	if err != nil {
		t.Fatalf("the agent does not connect: %v\n%s", err, a.Text())
	}
	s := NewStory(strings.TrimPrefix(line, "connected "))
	if err := s.Tell(t.Context(), f.doors()[0]); err != nil {
		t.Fatalf("%v\n%s", err, a.Text())
	}
	if n := len(a.Begun()); n != 16 {
		t.Errorf("%d messages began, of 16: %s", n, fmt.Sprint(a.Begun()))
	}
	f.verify(now)
}
