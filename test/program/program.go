// Package program runs the programs that tests are about: it starts one
// (program.go), keeps every line that it writes (transcript.go), and ends it,
// with or without warning. A program ends with whoever started it, however that
// ends, where the system can see to it (leash_linux.go).
package program

import (
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Process is one running program.
type Process struct {
	Name string
	In   io.WriteCloser
	Out  *Transcript // standard output
	Err  *Transcript // standard error

	cmd  *exec.Cmd
	done chan struct{}
}

// Start runs a program in an environment that is env and nothing else.
func Start(name string, env []string, path string, args ...string) (*Process, error) {
	p := &Process{Name: name, Out: newTranscript(), Err: newTranscript(), done: make(chan struct{})}
	p.cmd = exec.Command(path, args...)
	p.cmd.Env = env
	p.cmd.SysProcAttr = leash()
	stdout, err1 := p.cmd.StdoutPipe()
	stderr, err2 := p.cmd.StderrPipe()
	stdin, err3 := p.cmd.StdinPipe()
	if err := errors.Join(err1, err2, err3, p.cmd.Start()); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	p.In = stdin
	var readers sync.WaitGroup
	readers.Go(func() { p.Out.fill(stdout) })
	readers.Go(func() { p.Err.fill(stderr) })
	go func() { // ends with the process
		readers.Wait()
		p.cmd.Wait() //nolint:errcheck // ProcessState has it
		close(p.done)
	}()
	return p, nil
}

// Pid is the process's number.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// Ended is closed once the process has ended.
func (p *Process) Ended() <-chan struct{} { return p.done }

// Kill ends the process as a power cut would, and returns once it is gone.
func (p *Process) Kill() {
	p.cmd.Process.Signal(syscall.SIGKILL) //nolint:errcheck // it is gone already
	<-p.done
}

// Terminate asks the process to stop, as an init system does, and returns its
// exit code. After the given time it is killed; then and only then there is an
// error.
func (p *Process) Terminate(within time.Duration) (code int, err error) {
	p.cmd.Process.Signal(syscall.SIGTERM) //nolint:errcheck // it is gone already
	select {
	case <-p.done:
	case <-time.After(within):
		p.Kill()
		err = fmt.Errorf("%s does not stop within %s", p.Name, within)
	}
	return p.cmd.ProcessState.ExitCode(), err
}

// Text is all that the process has written so far.
func (p *Process) Text() string {
	var b strings.Builder
	for _, tr := range []*Transcript{p.Out, p.Err} {
		for _, line := range tr.All() {
			b.WriteString(line)
			b.WriteByte('\n')
		}
	}
	return b.String()
}
