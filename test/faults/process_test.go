package faults

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/beeos/beeos/test/program"
)

// process is one running program of a test's.
type process struct {
	*program.Process
	t        testing.TB
	replaced bool // by another one, whose log is more telling
}

// start runs a program until the test ends.
func start(t testing.TB, name, path string, env []string, args ...string) *process {
	t.Helper()
	env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "TMPDIR=" + os.TempDir()}, env...)
	running, err := program.Start(name, env, path, args...)
	if err != nil {
		t.Fatal(err)
	}
	p := &process{Process: running, t: t}
	t.Cleanup(func() {
		p.Kill()
		p.inspect()
	})
	return p
}

// inspect looks for what must never be in a log, and shows the end of the log
// of a failed test.
func (p *process) inspect() {
	lines := p.Err.All()
	for _, line := range lines {
		if strings.Contains(line, "DATA RACE") || strings.HasPrefix(line, "panic:") || strings.Contains(line, "panic: ") {
			p.t.Errorf("%s: %s", p.Name, line)
		}
	}
	if !p.t.Failed() || p.replaced {
		return
	}
	for _, line := range lines[max(0, len(lines)-40):] {
		p.t.Logf("%s: %s", p.Name, line)
	}
}

// terminate asks the process to stop and returns how long it took and the exit
// code.
func (p *process) terminate(within time.Duration) (took time.Duration, code int) {
	p.t.Helper()
	begun := time.Now()
	code, err := p.Terminate(within)
	if err != nil {
		p.t.Error(err)
	}
	return time.Since(begun), code
}

// expect waits for a line of the transcript, past or future, that the match
// accepts. The process must not end before it.
func (p *process) expect(tr *program.Transcript, what string, match func(line string) bool) string {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), patience)
	defer cancel()
	line, err := tr.Await(ctx, match)
	if err != nil {
		p.t.Fatalf("%s: %s: %v", p.Name, what, err)
	}
	return line
}
