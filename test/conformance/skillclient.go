//go:build unix

package main

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
)

// asClient marks the selections in which the suite is the server.
const asClient = "client"

// client runs the suite's command for clients against the skill client of
// built-in agents, which the program in ./client is made of.
func (s *suite) client(ctx context.Context, args string) (selection, error) {
	program := filepath.Join(s.dir, "skillclient")
	build := exec.CommandContext(ctx, "go", "build", "-o", program, "github.com/beeos/beeos/test/conformance/client")
	if out, err := build.CombinedOutput(); err != nil {
		return selection{}, fmt.Errorf("build the client: %w\n%s", err, out)
	}
	return s.collect(ctx, asClient+" "+args, func(ctx context.Context, dir string) ([]byte, error) {
		suite := s.tools.Module("@modelcontextprotocol/conformance/dist/index.js")
		args := append([]string{suite, "client", "--command", program, "--output-dir", dir}, strings.Fields(args)...)
		return s.tools.Node(ctx, args...).CombinedOutput()
	})
}

// started lists the scenarios that a run over clients has begun; they run side
// by side, so that its output says no more than that.
func started(output string) (names []string) {
	for line := range strings.Lines(output) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "Starting scenario: "); ok {
			names = append(names, name)
		}
	}
	return names
}
