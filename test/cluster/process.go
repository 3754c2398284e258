//go:build unix

package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// output keeps what is written to it.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(b)
}

// Log is the output so far.
func (o *output) Log() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// Process is a child whose output is kept.
type Process struct {
	output
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended
}

func start(ctx context.Context, env []string, name string, args ...string) (*Process, error) {
	p := &Process{cmd: exec.CommandContext(ctx, name, args...), done: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), env...)
	p.cmd.Stdout, p.cmd.Stderr = &p.output, &p.output
	p.cmd.Cancel = func() error { return p.cmd.Process.Signal(syscall.SIGTERM) }
	p.cmd.WaitDelay = 15 * time.Second
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() { // ends with the process
		_ = p.cmd.Wait() // how it ends is told by its log
		close(p.done)
	}()
	return p, nil
}

// Stop asks the process to end and waits.
func (p *Process) Stop() { p.end(syscall.SIGTERM) }

// Kill ends the process without a chance to tidy up, as kill -9 does.
func (p *Process) Kill() { p.end(syscall.SIGKILL) }

func (p *Process) end(with syscall.Signal) {
	_ = p.cmd.Process.Signal(with) // it may be gone already
	select {
	case <-p.done:
	case <-time.After(15 * time.Second):
		_ = p.cmd.Process.Kill()
		<-p.done
	}
}

const look = 20 * time.Millisecond

// Await waits until the output says so.
func (p *Process) Await(ctx context.Context, said func(log string) bool) error {
	tick := time.NewTicker(look)
	defer tick.Stop()
	for !said(p.Log()) {
		select {
		case <-tick.C:
		case <-p.done:
			return fmt.Errorf("%s ended:\n%s", p.cmd.Path, p.Log())
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready:\n%s", p.cmd.Path, p.Log())
		}
	}
	return nil
}

const readyWithin = 30 * time.Second

func (p *Process) awaitReady(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	err := p.Await(ctx, func(string) bool {
		r, err := http.Get(url)
		if err != nil {
			return false
		}
		r.Body.Close()
		return r.StatusCode == http.StatusOK
	})
	if err != nil {
		return errors.Join(fmt.Errorf("%s does not answer", url), err)
	}
	return nil
}
