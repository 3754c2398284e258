package faults

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// process is one running program. Every line that it writes is kept.
type process struct {
	t    testing.TB
	name string
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *transcript
	log  *transcript
	done chan struct{} // closed once it has ended

	replaced bool // by another one, whose log is more telling
}

// start runs a program until the test ends.
func start(t testing.TB, name, path string, env []string, args ...string) *process {
	t.Helper()
	p := &process{t: t, name: name, out: newTranscript(), log: newTranscript(), done: make(chan struct{})}
	p.cmd = exec.Command(path, args...)
	p.cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "TMPDIR=" + os.TempDir()}, env...)
	p.cmd.SysProcAttr = leash()
	stdout, err1 := p.cmd.StdoutPipe()
	stderr, err2 := p.cmd.StderrPipe()
	stdin, err3 := p.cmd.StdinPipe()
	if err := errors.Join(err1, err2, err3, p.cmd.Start()); err != nil {
		t.Fatalf("start %s: %v", name, err)
	}
	p.in = stdin
	var readers sync.WaitGroup
	readers.Go(func() { p.out.fill(stdout) })
	readers.Go(func() { p.log.fill(stderr) })
	go func() { // ends with the process, which cleanup sees to
		readers.Wait()
		p.cmd.Wait() //nolint:errcheck // ProcessState has it
		close(p.done)
	}()
	t.Cleanup(func() {
		p.kill()
		p.inspect()
	})
	return p
}

// inspect looks for what must never be in a log, and shows the end of the log
// of a failed test.
func (p *process) inspect() {
	for _, line := range p.log.all() {
		if strings.Contains(line, "DATA RACE") || strings.HasPrefix(line, "panic:") || strings.Contains(line, "panic: ") {
			p.t.Errorf("%s: %s", p.name, line)
		}
	}
	if !p.t.Failed() || p.replaced {
		return
	}
	lines := p.log.all()
	for _, line := range lines[max(0, len(lines)-40):] {
		p.t.Logf("%s: %s", p.name, line)
	}
}

// kill ends the process as a power cut would, and returns once it is gone.
func (p *process) kill() {
	p.cmd.Process.Signal(syscall.SIGKILL) //nolint:errcheck // it is gone already
	<-p.done
}

// terminate asks the process to stop, as an init system does, and returns
// how long it took and the exit code. After the given time it is killed.
func (p *process) terminate(within time.Duration) (took time.Duration, code int) {
	p.t.Helper()
	begun := time.Now()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		p.t.Fatalf("%s cannot be asked to stop: %v", p.name, err)
	}
	select {
	case <-p.done:
	case <-time.After(within):
		p.t.Errorf("%s does not stop within %s", p.name, within)
		p.kill()
	}
	return time.Since(begun), p.cmd.ProcessState.ExitCode()
}

// expect waits for a line of the transcript, past or future, that the match
// accepts. The process must not end before it.
func (p *process) expect(tr *transcript, what string, match func(line string) bool) string {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), patience)
	defer cancel()
	line, _, err := tr.await(ctx, 0, match)
	if err != nil {
		p.t.Fatalf("%s: %s: %v", p.name, what, err)
	}
	return line
}

// transcript is the lines that a process has written so far.
type transcript struct {
	mu    sync.Mutex
	lines []string
	ended bool
	grown chan struct{} // closed and replaced when there is more
}

func newTranscript() *transcript { return &transcript{grown: make(chan struct{})} }

func (tr *transcript) fill(r io.Reader) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 4<<20)
	for lines.Scan() {
		tr.add(lines.Text(), false)
	}
	tr.add("", true)
}

func (tr *transcript) add(line string, end bool) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	if tr.ended = end; !end {
		tr.lines = append(tr.lines, line)
	}
	close(tr.grown)
	tr.grown = make(chan struct{})
}

func (tr *transcript) all() []string {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	return tr.lines[:len(tr.lines):len(tr.lines)]
}

// await returns the first line from the given number on that match accepts,
// and the number of the line after it.
func (tr *transcript) await(ctx context.Context, from int, match func(string) bool) (line string, next int, err error) {
	for {
		tr.mu.Lock()
		lines, ended, grown := tr.lines, tr.ended, tr.grown
		tr.mu.Unlock()
		for ; from < len(lines); from++ {
			if match(lines[from]) {
				return lines[from], from + 1, nil
			}
		}
		if ended {
			return "", from, errors.New("it ended first")
		}
		select {
		case <-grown:
		case <-ctx.Done():
			return "", from, fmt.Errorf("it did not come: %w", ctx.Err())
		}
	}
}
