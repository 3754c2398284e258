//go:build unix

// Package typescript tests the TypeScript SDK the way its users get it: its own
// tests run on the sources (package_test.go), then it is built, packed and
// installed into an empty folder, where agents are compiled against it and run
// beside a real server. They are called over REST, MCP and A2A (scenarios_test.go,
// whose agent is testdata/scenarios.ts); examples/check/agent.ts is tried by beeos
// agent check (check_test.go), and the few lines of docs/start by clients that others
// wrote (five_lines_test.go). world_test.go starts the processes. What `beeos agent
// new` writes is in generated_test.go; agents of other frameworks are in
// adapters_test.go and agents on Bun and Deno in runtimes_test.go, behind tags.
package typescript

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/beeos/beeos/test/npm"
	// The program under test is built beside this binary. Importing it as well
	// tells go test that yesterday's result is none of today's program.
	_ "github.com/beeos/beeos/internal/cli"
)

const (
	sources = "../../sdk"
	readme  = "../../sdk/typescript/README.md"
	howTo   = "../../docs/how-to/typescript.md"
	start   = "../../docs/start/agent-typescript.md"
)

// around stands before what docs/how-to/typescript.md shows, for what that takes as given.
const around = `import { unlink } from "node:fs/promises";
import { Client } from "@beeos/sdk";
import type { Servable } from "@beeos/sdk/adapters";
declare const support: Servable;
declare function model(text: string, signal: AbortSignal): AsyncIterable<string>;
`

// workshop is where the SDK is built.
type workshop struct {
	dir      string     // a copy of the SDK
	node     string     // the Node that runs everything
	packages *npm.Tools // what the SDK is built and tested with
	project  string     // an empty folder with the packed SDK installed, and agents compiled in it
}

var openWorkshop = sync.OnceValues(func() (*workshop, error) {
	ctx := context.Background()
	tools, err := npm.Install(ctx)
	if err != nil {
		return nil, err
	}
	w := &workshop{node: tools.Module(".bin/node")}
	manifest, err1 := os.ReadFile(filepath.Join(sources, "typescript", "package.json"))
	lock, err2 := os.ReadFile(filepath.Join(sources, "typescript", "package-lock.json"))
	if err1 != nil || err2 != nil {
		return nil, fmt.Errorf("read what the SDK needs: %w, %w", err1, err2)
	}
	if w.packages, err = npm.InstallLocked(ctx, manifest, lock); err != nil {
		return nil, err
	}
	root, err := os.MkdirTemp("", "beeos-typescript-")
	if err != nil {
		return nil, err
	}
	w.dir, w.project = filepath.Join(root, "sdk", "typescript"), filepath.Join(root, "project")
	for _, part := range []string{"spec", "typescript/src", "typescript/test"} {
		if err := os.CopyFS(filepath.Join(root, "sdk", part), os.DirFS(filepath.Join(sources, part))); err != nil {
			return nil, err
		}
	}
	for _, name := range []string{"package.json", "tsconfig.json", "tsconfig.build.json", "reference.ts", "README.md"} {
		text, err := os.ReadFile(filepath.Join(sources, "typescript", name))
		if err == nil {
			err = os.WriteFile(filepath.Join(w.dir, name), text, 0o600)
		}
		if err != nil {
			return nil, err
		}
	}
	return w, os.Symlink(w.packages.Module(""), filepath.Join(w.dir, "node_modules"))
})

func TestMain(m *testing.M) {
	code := m.Run()
	if w, err := openWorkshop(); err == nil {
		os.RemoveAll(filepath.Dir(w.project)) //nolint:errcheck // a temporary folder
	}
	os.Exit(code)
}

func theWorkshop(t *testing.T) *workshop {
	t.Helper()
	w, err := openWorkshop()
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// run runs a program to its end and returns what it printed.
func run(ctx context.Context, dir, path string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s", filepath.Base(path), strings.Join(args, " "), err, out)
	}
	return string(out), nil
}

// compile runs the TypeScript compiler in a folder.
func (w *workshop) compile(ctx context.Context, dir string, args ...string) error {
	_, err := run(ctx, dir, w.node, append([]string{w.packages.Module("typescript/bin/tsc")}, args...)...)
	return err
}

var installed = sync.OnceValue(func() error {
	w, err := openWorkshop()
	if err != nil {
		return err
	}
	return w.installPacked(context.Background())
})

// theProject returns the folder in which the packed SDK is installed and the
// agents are compiled.
func theProject(t *testing.T) *workshop {
	t.Helper()
	w := theWorkshop(t)
	if err := installed(); err != nil {
		t.Fatal(err)
	}
	return w
}

// installPacked builds and packs the SDK, installs it into an empty folder and
// compiles the agents against it.
func (w *workshop) installPacked(ctx context.Context) error {
	if err := w.compile(ctx, w.dir, "-p", "tsconfig.build.json"); err != nil {
		return err
	}
	if err := os.Mkdir(w.project, 0o700); err != nil {
		return err
	}
	if _, err := run(ctx, w.dir, "npm", "pack", "--ignore-scripts", "--pack-destination", w.project); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(w.project, "package.json"), []byte(`{"type": "module", "private": true}`), 0o600); err != nil {
		return err
	}
	packed, err := filepath.Glob(filepath.Join(w.project, "beeos-sdk-*.tgz"))
	if err != nil || len(packed) != 1 {
		return fmt.Errorf("packed as %v, %w", packed, err)
	}
	// It has no dependencies, so nothing has to be asked for.
	if _, err := run(ctx, w.project, "npm", "install", "--offline", "--ignore-scripts", "--no-audit", "--no-fund", packed[0]); err != nil {
		return err
	}
	for _, name := range []string{"zod", "@types"} {
		if err := os.Symlink(w.packages.Module(name), filepath.Join(w.project, "node_modules", name)); err != nil {
			return err
		}
	}
	return w.compileAgents(ctx)
}

var block = regexp.MustCompile("(?s)```ts\n(.*?)```")

// compileAgents writes what the documents show and the agent of the tests, and
// compiles them as strictly as the compiler can.
func (w *workshop) compileAgents(ctx context.Context) error {
	shown, err1 := readBlocks(readme)
	told, err2 := readBlocks(howTo)
	first, err4 := readBlocks(start)
	scenarios, err3 := os.ReadFile("testdata/scenarios.ts")
	tried, err5 := os.ReadFile("../../examples/check/agent.ts")
	if err := errors.Join(err1, err2, err3, err4, err5); err != nil {
		return err
	}
	if len(first) != 1 {
		return fmt.Errorf("%s shows %d programs, want one", start, len(first))
	}
	if len(shown) != 2 || len(told) == 0 {
		return fmt.Errorf("%s shows %d programs, want an agent and a client; %s shows %d", readme, len(shown), howTo, len(told))
	}
	programs := map[string]string{"weather.ts": shown[0], "ask.ts": shown[1], "told.ts": around + strings.Join(told, "\n"), "first.ts": first[0], "scenarios.ts": string(scenarios), "agent.ts": string(tried)}
	for name, text := range programs {
		if err := os.WriteFile(filepath.Join(w.project, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return w.compile(ctx, w.project, append([]string{
		"--strict", "--noUncheckedIndexedAccess", "--module", "nodenext", "--target", "es2023", "--lib", "es2024", "--types", "node",
	}, slices.Sorted(maps.Keys(programs))...)...)
}

// readBlocks returns the programs that a document shows.
func readBlocks(path string) (programs []string, err error) {
	text, err := os.ReadFile(path)
	for _, m := range block.FindAllSubmatch(text, -1) {
		programs = append(programs, string(m[1]))
	}
	return programs, err
}
