//go:build unix

package docs

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// patience covers the compiler, too.
const patience = 3 * time.Minute

// shell is a person at a terminal of a machine on which `beeos dev` runs, or
// soon will.
type shell struct {
	t      *testing.T
	folder string // where beeos-data is
	env    []string
}

// newShell returns a shell whose servers use free ports and keep their data
// in a folder of the test's own; else everything is as anywhere.
func newShell(t *testing.T) *shell {
	t.Helper()
	folder := t.TempDir()
	env := append(os.Environ(), "BEEOS_DATA="+filepath.Join(folder, "beeos-data"), "XDG_CONFIG_HOME="+filepath.Join(folder, ".config"),
		"BEEOS_KEY=", "BEEOS_URL=", "BEEOS_JOIN_TOKEN=", "AGENT_GATEWAY_URL=", "NO_COLOR=1")
	for _, name := range []string{"MCP_ADDR", "A2A_ADDR", "OPENAPI_ADDR", "AGENT_GATEWAY_ADDR", "WEB_ADDR"} {
		env = append(env, name+"=127.0.0.1:0")
	}
	return &shell{t: t, folder: folder, env: env}
}

// program builds BeeOS and puts it on the path.
func (s *shell) program() {
	s.t.Helper()
	bin := s.t.TempDir()
	out, err := exec.CommandContext(s.t.Context(), "go", "build", "-o", bin, "github.com/beeos/beeos/cmd/beeos").CombinedOutput()
	if err != nil {
		s.t.Fatalf("build: %v\n%s", err, out)
	}
	s.env = append(s.env, "PATH="+bin+":"+os.Getenv("PATH"))
}

func (s *shell) command(in, script string) *exec.Cmd {
	cmd := exec.CommandContext(s.t.Context(), "bash", "-euo", "pipefail", "-c", script)
	cmd.Dir, cmd.Env = in, s.env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd
}

// run runs a script to its end and returns what it prints.
func (s *shell) run(in, script string) string {
	s.t.Helper()
	cmd := s.command(in, script)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		s.t.Fatalf("%s\n%v\n%s%s", script, err, out, &stderr)
	}
	return string(out)
}

// until runs a script again and again until it prints text.
func (s *shell) until(in, script, text string) {
	s.t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for end := time.After(patience); ; {
		out, err := s.command(in, script).CombinedOutput()
		if err == nil && strings.Contains(string(out), text) {
			return
		}
		select {
		case <-tick.C:
		case <-end:
			s.t.Fatalf("%s\n%v\n%s", script, err, out)
		}
	}
}

// running is a script that goes on beside the test.
type running struct {
	t      *testing.T
	script string
	cmd    *exec.Cmd
	done   chan struct{}

	mu  sync.Mutex
	out bytes.Buffer
}

// start runs a script until interrupt, or the test's end.
func (s *shell) start(in, script string) *running {
	s.t.Helper()
	r := &running{t: s.t, script: script, cmd: s.command(in, script), done: make(chan struct{})}
	r.cmd.Stdout, r.cmd.Stderr = r, r
	if err := r.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	go func() {
		r.cmd.Wait() //nolint:errcheck // ProcessState has it
		close(r.done)
	}()
	s.t.Cleanup(func() {
		syscall.Kill(-r.cmd.Process.Pid, syscall.SIGKILL) //nolint:errcheck // it is gone already
		<-r.done
		if s.t.Failed() {
			s.t.Logf("%s\n%s", script, r.printed())
		}
	})
	return r
}

// Write keeps what the script prints.
func (r *running) Write(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.out.Write(b)
}

func (r *running) printed() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.out.String()
}

// expect waits until the script has printed text.
func (r *running) expect(text string) {
	r.t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for end := time.After(patience); !strings.Contains(r.printed(), text); {
		select {
		case <-tick.C:
		case <-r.done:
			r.t.Fatalf("%s ended with %s", r.script, r.cmd.ProcessState)
		case <-end:
			r.t.Fatalf("%s does not print %q", r.script, text)
		}
	}
}

// interrupt is Ctrl-C: it reaches everything that the script has started, and
// all of it has to end well.
func (r *running) interrupt() {
	r.t.Helper()
	if err := syscall.Kill(-r.cmd.Process.Pid, syscall.SIGINT); err != nil {
		r.t.Fatal(err)
	}
	select {
	case <-r.done:
	case <-time.After(patience):
		r.t.Fatalf("%s does not end", r.script)
	}
	// The go command itself fails when it is interrupted, but it says so when
	// the program that it runs does.
	well := r.cmd.ProcessState.Success() || strings.HasPrefix(r.script, "go run ") && !strings.Contains(r.printed(), "exit status")
	if !well {
		r.t.Errorf("%s ended with %s", r.script, r.cmd.ProcessState)
	}
}
