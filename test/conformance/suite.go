//go:build unix

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/beeos/beeos/test/npm"
)

// suite is the official program.
type suite struct {
	tools *npm.Tools
	url   string
	dir   string // for its results
}

// check is one requirement that was looked at.
type check struct {
	ID           string `json:"id"`
	Status       string `json:"status"`
	Description  string `json:"description"`
	ErrorMessage string `json:"errorMessage"`
}

// scenario is a group of checks.
type scenario struct {
	name   string
	checks []check
}

// selection is one run over many scenarios.
type selection struct {
	args      string
	scenarios []scenario
	took      time.Duration
}

const runWithin = 10 * time.Minute

func (s *suite) command(ctx context.Context, args ...string) *exec.Cmd {
	program := s.tools.Module("@modelcontextprotocol/conformance/dist/index.js")
	return s.tools.Node(ctx, append([]string{program, "server", "--url", s.url}, args...)...)
}

// show runs one scenario with the suite's own words.
func (s *suite) show(ctx context.Context, name string) error {
	cmd := s.command(ctx, "--scenario", name, "--verbose")
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	return cmd.Run()
}

// run runs a selection; how says with which credential, where that matters.
func (s *suite) run(ctx context.Context, args, how string) (selection, error) {
	return s.collect(ctx, strings.TrimSpace(args+" "+how), func(ctx context.Context, dir string) ([]byte, error) {
		return s.command(ctx, append(strings.Fields(args), "--output-dir", dir)...).CombinedOutput()
	})
}

// collect runs the suite somehow and reads its results. That checks fail is no
// error.
func (s *suite) collect(ctx context.Context, name string, run func(ctx context.Context, dir string) ([]byte, error)) (selection, error) {
	ctx, cancel := context.WithTimeout(ctx, runWithin)
	defer cancel()
	dir := filepath.Join(s.dir, strings.ReplaceAll(strings.TrimLeft(name, "-"), " ", "-"))
	if err := os.RemoveAll(dir); err != nil {
		return selection{}, err
	}
	begin := time.Now()
	out, err := run(ctx, dir)
	var failed *exec.ExitError
	if err != nil && (!errors.As(err, &failed) || ctx.Err() != nil) {
		return selection{}, fmt.Errorf("%w\n%s", err, tail(string(out)))
	}
	_ = os.MkdirAll(dir, 0o755)
	_ = os.WriteFile(filepath.Join(dir, "output.txt"), out, 0o644) // for who looks closer
	r := selection{args: name, took: time.Since(begin)}
	if r.scenarios, err = results(dir, string(out)); err != nil {
		return r, err
	}
	if len(r.scenarios) == 0 {
		return r, fmt.Errorf("the suite ran nothing:\n%s", tail(string(out)))
	}
	if failed != nil && r.total().failed == 0 {
		return r, fmt.Errorf("the suite failed (%w) without a check that did:\n%s", failed, tail(string(out)))
	}
	return r, nil
}

// results reads the checks of every scenario that the output says was run. One
// that broke has left none; that is a failure too.
func results(dir, output string) (all []scenario, err error) {
	for part := range strings.SplitSeq(output, "=== Running scenario: ") {
		name, rest, ok := strings.Cut(part, " ===\n")
		if !ok || strings.Contains(name, "\n") {
			continue
		}
		s, err := read(dir, name, rest, "server-", "authorization-server-")
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	for _, name := range started(output) {
		s, err := read(dir, name, output, "")
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

// read reads the checks of one scenario, about which the output says rest. Its
// folder begins with one of the prefixes.
func read(dir, name, rest string, prefixes ...string) (scenario, error) {
	s := scenario{name: name}
	var files []string
	for _, command := range prefixes {
		found, err := filepath.Glob(filepath.Join(dir, command+name+"-2*", "checks.json"))
		if err != nil {
			return s, err
		}
		files = append(files, found...)
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			return s, err
		}
		if err := json.Unmarshal(b, &s.checks); err != nil {
			return s, fmt.Errorf("%s: %w", f, err)
		}
	}
	if len(files) == 0 && !strings.Contains(rest, "SKIPPED") {
		s.checks = []check{{ID: name, Status: "FAILURE", ErrorMessage: "the scenario broke: " + tail(rest)}}
	}
	return s, nil
}

// tail is the end of a long text.
func tail(s string) string {
	const size = 2000
	return strings.TrimSpace(s[max(0, len(s)-size):])
}
