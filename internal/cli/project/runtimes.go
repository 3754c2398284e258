package project

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/beeos/beeos/internal/cli/terminal"
)

// runtime makes the agent in a folder ready to run, and returns the command that runs it there. It
// may put things into scratch.
type runtime func(ctx context.Context, t *terminal.Terminal, dir, scratch string) (command []string, err error)

// entries are the files that agents begin with, in the order in which they are looked for.
var (
	pythonEntries     = []string{"agent.py", "main.py"}
	typescriptEntries = []string{"agent.ts", "agent.js", "agent.mjs", "main.ts", "main.js"}
)

// findRuntime finds out what the agent in a folder is written in.
func findRuntime(dir string) (runtime, error) {
	if files, _ := filepath.Glob(filepath.Join(dir, "*.go")); len(files) > 0 {
		return buildGo, nil
	}
	if entry := findEntry(dir, pythonEntries); entry != "" {
		return runPython(entry), nil
	}
	if entry := findEntry(dir, typescriptEntries); entry != "" {
		return runNode(entry), nil
	}
	name := filepath.Base(dir)
	if !agentName.MatchString(name) { // such as the folder we are in
		name = "NAME"
	}
	return nil, terminal.Hint("there is no agent in "+dir+" (main.go, agent.py or agent.ts)", "write one with: beeos agent new "+name)
}

func findEntry(dir string, names []string) string {
	for _, name := range names {
		if exists(filepath.Join(dir, name)) {
			return name
		}
	}
	return ""
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// buildGo builds a program into scratch, a new one each time: the old one may be running.
func buildGo(ctx context.Context, t *terminal.Terminal, dir, scratch string) ([]string, error) {
	place, err := os.MkdirTemp(scratch, "")
	if err != nil {
		return nil, fmt.Errorf("build the agent: %w", err)
	}
	program := filepath.Join(place, "agent")
	build := exec.CommandContext(ctx, "go", "build", "-o", program, ".")
	build.Dir, build.Stdout, build.Stderr = dir, t.Err, t.Err
	if err := build.Run(); err != nil {
		if errors.Is(err, exec.ErrNotFound) {
			return nil, terminal.Hint("the go command is missing", "install Go 1.26 or later from https://go.dev/dl")
		}
		return nil, terminal.Hint("the agent does not build", "see above; for missing modules run: go -C "+formatFolder(dir)+" mod tidy")
	}
	return []string{program}, nil
}

// runPython runs an agent with the virtual environment of its folder, which uv makes
// where there is one, or else with the python3 that has the SDK.
func runPython(entry string) runtime {
	return func(ctx context.Context, t *terminal.Terminal, dir, _ string) ([]string, error) {
		python, err := filepath.Abs(filepath.Join(dir, ".venv", "bin", "python"))
		if err != nil {
			return nil, err
		}
		if !exists(python) {
			made, err := makeWithUV(ctx, t, dir)
			if err != nil {
				return nil, err
			}
			if !made {
				python = "python3"
			}
		}
		if out, err := exec.CommandContext(ctx, python, "-c", "import beeos").CombinedOutput(); err != nil {
			return nil, explainPython(err, out, dir)
		}
		return []string{python, entry}, nil
	}
}

// makeWithUV makes the virtual environment of a folder, if there is uv and the folder
// says what it needs.
func makeWithUV(ctx context.Context, t *terminal.Terminal, dir string) (made bool, err error) {
	uv, err := exec.LookPath("uv")
	if err != nil || !exists(filepath.Join(dir, "requirements.txt")) {
		return false, nil //nolint:nilerr // it is one way of several
	}
	for _, args := range [][]string{{"venv", "--quiet", ".venv"}, {"pip", "install", "--quiet", "--python", filepath.Join(".venv", "bin", "python"), "-r", "requirements.txt"}} {
		cmd := exec.CommandContext(ctx, uv, args...)
		cmd.Dir, cmd.Stdout, cmd.Stderr = dir, t.Err, t.Err
		if err := cmd.Run(); err != nil {
			os.RemoveAll(filepath.Join(dir, ".venv")) //nolint:errcheck // half of one would be taken for a whole
			return false, terminal.Hint("uv could not fetch what the agent is made of", "see above, then run it again")
		}
	}
	return true, nil
}

func explainPython(err error, out []byte, dir string) error {
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return terminal.Hint("python3 is missing", "install Python 3.10 or later from https://www.python.org/downloads")
	case bytes.Contains(out, []byte("No module named 'beeos'")):
		return terminal.Hint("Python does not find the package beeos", "install it with: "+installPython(dir))
	}
	return fmt.Errorf("python cannot load the package beeos: %w\n%s", err, bytes.TrimSpace(out))
}

// oldestNode runs TypeScript as it is, without a flag and without a warning for each file.
var oldestNode = [2]int{22, 18}

// runNode runs an agent with node, which takes the types away by itself.
func runNode(entry string) runtime {
	return func(ctx context.Context, _ *terminal.Terminal, dir, _ string) ([]string, error) {
		install := "install Node 22.18 or later from https://nodejs.org/en/download"
		out, err := exec.CommandContext(ctx, "node", "--version").Output()
		if err != nil {
			return nil, terminal.Hint("the node command is missing", install)
		}
		var major, minor int
		if _, err := fmt.Sscanf(string(out), "v%d.%d", &major, &minor); err != nil || major < oldestNode[0] || major == oldestNode[0] && minor < oldestNode[1] {
			return nil, terminal.Hint("node is too old to run TypeScript: "+string(bytes.TrimSpace(out)), install)
		}
		if exists(filepath.Join(dir, "package.json")) && !exists(filepath.Join(dir, "node_modules")) {
			return nil, terminal.Hint("what the agent is made of is not installed", "fetch it with: "+installTypeScript(dir))
		}
		return []string{"node", entry}, nil
	}
}
