//go:build unix

package project

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/beeos/beeos/internal/cli/terminal"
)

const patience = 30 * time.Second

// screen collects what is printed.
type screen struct {
	mu   sync.Mutex
	text strings.Builder
	more chan struct{}
}

func (s *screen) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case s.more <- struct{}{}:
	default:
	}
	return s.text.Write(b)
}

func (s *screen) await(t *testing.T, want string) {
	t.Helper()
	for end := time.After(patience); ; {
		s.mu.Lock()
		text := s.text.String()
		s.mu.Unlock()
		if strings.Contains(text, want) {
			return
		}
		select {
		case <-s.more:
		case <-end:
			t.Fatalf("%q is not printed:\n%s", want, text)
		}
	}
}

// runShell runs the folder's agent.js by the shell; it cannot be built while it says
// "half".
func runShell(t *testing.T, script string) (dir string, s *screen, ended <-chan error, stop func()) {
	t.Helper()
	dir = t.TempDir()
	write(t, dir, script)
	s = &screen{more: make(chan struct{}, 1)}
	r := &runner{cmd: &RunCmd{Dir: dir, Reload: true}, t: terminal.New(strings.NewReader(""), s, s)}
	r.build = func() ([]string, error) {
		text, err := os.ReadFile(filepath.Join(dir, "agent.js"))
		if strings.Contains(string(text), "half") {
			err = errors.New("it is half-written")
		}
		return []string{"sh", "agent.js"}, err
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.run(ctx) }()
	return dir, s, done, cancel
}

func write(t *testing.T, dir, script string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, "agent.js"), []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
}

func awaitEnd(t *testing.T, ended <-chan error) error {
	t.Helper()
	select {
	case err := <-ended:
		return err
	case <-time.After(patience):
		t.Fatal("it does not end")
		return nil
	}
}

// TestAgentIsReloaded: a change starts the agent again; one that does not build leaves
// it as it was, one that fails waits for the next.
func TestAgentIsReloaded(t *testing.T) {
	dir, s, ended, stop := runShell(t, "echo first runs; exec sleep 600")
	s.await(t, "first runs")
	write(t, dir, "half a thought")
	s.await(t, "it is half-written; the agent goes on as it was")
	write(t, dir, "echo second fails; exit 3")
	s.await(t, "second fails")
	s.await(t, "waiting for a change")
	write(t, dir, "echo third runs; exec sleep 600")
	s.await(t, "third runs")
	stop()
	if err := awaitEnd(t, ended); err != nil {
		t.Error(err)
	}
}

// TestAgentEndsByItself: its end is the command's, with its error.
func TestAgentEndsByItself(t *testing.T) {
	_, _, ended, _ := runShell(t, "exit 0")
	if err := awaitEnd(t, ended); err != nil {
		t.Error(err)
	}
	_, _, ended, _ = runShell(t, "exit 3")
	if err := awaitEnd(t, ended); err == nil || err.Error() != "the agent ended: exit status 3" {
		t.Error(err)
	}
}

// TestDataIsNoChange: what an agent writes does not start it again.
func TestDataIsNoChange(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "one")
	before := readFolder(dir)
	for _, name := range []string{"state.json", "node_modules/x/index.js", ".venv/lib/x.py", "beeos-data/x.go"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("data"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if after := readFolder(dir); len(before) != 1 || len(after) != 1 {
		t.Errorf("%v, then %v", before, after)
	}
}

// TestMissingRuntimes: what is missing is said, and how to get it.
func TestMissingRuntimes(t *testing.T) {
	for _, c := range []struct {
		name, file, program, says string
		more                      string // another file of the folder
		want                      string
	}{
		{name: "no Python", file: "agent.py", want: "python3 is missing — install Python 3.10"},
		{name: "no package", file: "agent.py", program: "python3", says: "echo \"No module named 'beeos'\"; exit 1", want: "install it with: python3 -m venv "},
		{name: "no Node", file: "agent.ts", want: "the node command is missing — install Node 22.18"},
		{name: "old Node", file: "agent.ts", program: "node", says: "echo v20.20.2", want: "too old to run TypeScript: v20.20.2 — install Node 22.18"},
		{name: "almost", file: "agent.ts", program: "node", says: "echo v22.17.1", want: "too old"},
		{name: "not installed", file: "agent.ts", more: "package.json", program: "node", says: "echo v24.1.0", want: "fetch it with: npm --prefix "},
		{name: "no Go", file: "main.go", want: "the go command is missing — install Go 1.26"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir, bin := t.TempDir(), t.TempDir()
			t.Setenv("PATH", bin)
			for _, name := range []string{c.file, c.more} {
				if name != "" {
					if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
						t.Fatal(err)
					}
				}
			}
			if c.program != "" {
				if err := os.WriteFile(filepath.Join(bin, c.program), []byte("#!/bin/sh\n"+c.says+"\n"), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			made, err := findRuntime(dir)
			if err != nil {
				t.Fatal(err)
			}
			_, err = made(t.Context(), terminal.New(nil, os.Stdout, os.Stderr), dir, t.TempDir())
			if err == nil || !strings.Contains(terminal.Sentence(err), c.want) {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}
