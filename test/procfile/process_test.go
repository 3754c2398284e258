//go:build unix

package procfile

import (
	"net"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// patience is how long a start or an end may take on a busy machine.
const patience = time.Minute

// process is one line of the Procfile at work.
type process struct {
	t    *testing.T
	name string
	cmd  *exec.Cmd
	done chan struct{} // closed once it has ended

	mu  sync.Mutex
	log strings.Builder
}

// run starts a line the way goreman does, by the shell and in a process group
// of its own.
func run(t *testing.T, name, line string, env []string) *process {
	t.Helper()
	p := &process{t: t, name: name, cmd: exec.Command("/bin/sh", "-c", "exec "+line), done: make(chan struct{})}
	p.cmd.Env, p.cmd.Stdout, p.cmd.Stderr = env, p, p
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := p.cmd.Start(); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	go func() { // ends with the process, which the clean-up waits for
		p.cmd.Wait() //nolint:errcheck // ProcessState has it
		close(p.done)
	}()
	t.Cleanup(func() {
		syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL) //nolint:errcheck // it is gone already
		<-p.done
		if t.Failed() {
			t.Logf("%s said:\n%s", name, strings.Join(p.lines(), "\n"))
		}
	})
	return p
}

// Write keeps what the process prints.
func (p *process) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.Write(b)
}

func (p *process) lines() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Split(strings.TrimSpace(p.log.String()), "\n")
}

// expect waits until the process has printed text.
func (p *process) expect(text string) {
	p.t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for end := time.After(patience); ; {
		if strings.Contains(strings.Join(p.lines(), "\n"), text) {
			return
		}
		select {
		case <-tick.C:
		case <-p.done:
			p.t.Fatalf("%s ended with %s", p.name, p.cmd.ProcessState)
		case <-end:
			p.t.Fatalf("%s does not print %q", p.name, text)
		}
	}
}

// terminate asks the process to end, as an init system does; it must, with
// exit code 0.
func (p *process) terminate() {
	p.t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		p.t.Errorf("%s: %v", p.name, err)
	}
	select {
	case <-p.done:
		if code := p.cmd.ProcessState.ExitCode(); code != 0 {
			p.t.Errorf("%s ended with %s", p.name, p.cmd.ProcessState)
		}
	case <-time.After(patience):
		p.t.Errorf("%s does not end", p.name)
	}
}

// freePort returns a port that was free a moment ago.
func freePort(t *testing.T) int {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	return ln.Addr().(*net.TCPAddr).Port
}
