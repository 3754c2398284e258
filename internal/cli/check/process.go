package check

import (
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// keptOutput is how much of what a process wrote last is kept.
const keptOutput = 8 << 10

// process is a program that runs beside this one.
type process struct {
	cmd  *exec.Cmd
	out  *tail
	done chan struct{} // closed when it has ended
}

// startProcess runs a command with this environment and no other, in a group of its
// own: what it starts ends with it.
func startProcess(env []string, out *tail, path string, args ...string) (*process, error) {
	p := &process{cmd: exec.Command(path), out: out, done: make(chan struct{})}
	p.cmd.Args, p.cmd.Env, p.cmd.Stdout, p.cmd.Stderr = args, env, out, out
	p.cmd.WaitDelay = time.Second // for its output, if a child of its keeps that open
	startGroup(p.cmd)
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", path, err)
	}
	go func() { // ends with the process
		p.cmd.Wait() //nolint:errcheck // ProcessState has it
		close(p.done)
	}()
	return p, nil
}

// kill ends the process and what it started, as a power cut would.
func (p *process) kill() {
	killGroup(p.cmd)
	<-p.done
}

// ended reports whether the process has ended.
func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// tail keeps the end of what is written to it.
type tail struct {
	mu   sync.Mutex
	text []byte
}

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, b...)
	if extra := len(t.text) - keptOutput; extra > 0 {
		t.text = append(t.text[:0], t.text[extra:]...)
	}
	return len(b), nil
}

// String is what was kept, in whole lines.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := string(t.text)
	if len(text) == keptOutput {
		_, text, _ = strings.Cut(text, "\n")
	}
	return strings.TrimSpace(text)
}
