//go:build unix

package docs

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/beeos/beeos/internal/outward/bridge"
)

// TestAgentsPage runs the three ways of docs/how-to/agents.md to write an agent.
func TestAgentsPage(t *testing.T) {
	guide, s := read(t, "docs/how-to/agents.md"), newShell(t)
	s.program()
	dev := s.start(s.folder, "beeos dev")
	dev.expect("Ctrl-C stops.")

	t.Run("go", func(t *testing.T) {
		root, err := filepath.Abs(repo)
		if err != nil {
			t.Fatal(err)
		}
		s.run(s.folder, "beeos agent new weather --sdk '"+root+"'")
		program := `package main

import (
	"context"
	"encoding/json"
	"log"
	"os"
	"os/signal"

	"github.com/beeos/beeos/agent"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
` + guide.block(t, "go") + `
	if err != nil {
		log.Fatal(err)
	}
}
`
		if err := os.WriteFile(filepath.Join(s.folder, "weather", "main.go"), []byte(program), 0o600); err != nil {
			t.Fatal(err)
		}
		weather := s.start(s.folder, "beeos agent run ./weather")
		s.until(s.folder, `beeos call weather --tool forecast --args '{"city":"Oslo"}'`, "Looking at the sky over Oslo. It is sunny.")
		weather.interrupt()
	})

	t.Run("exec", func(t *testing.T) {
		program := "#!/usr/bin/env python3\n" + guide.block(t, "python")
		if err := os.WriteFile(filepath.Join(s.folder, "my-program"), []byte(program), 0o700); err != nil {
			t.Fatal(err)
		}
		mine := s.start(s.folder, shellBlock(t, guide, "beeos connect"))
		s.until(s.folder, "beeos call mine 'good day'", "you said: good day")
		mine.interrupt()
	})

	t.Run("curl", func(t *testing.T) {
		script := shellBlock(t, guide, "gateway=") + shellBlock(t, guide, "# signed") + shellBlock(t, guide, "signed POST")
		s.start(s.folder, script)
		s.until(s.folder, `beeos call by-hand 'say "hi"'`, `you said: say "hi"`)
	})

	if n := len(guide.blocks("sh")); n != 4 {
		t.Errorf("docs/how-to/agents.md has %d shell blocks; this test runs 4 of them", n)
	}
	dev.interrupt()
}

// TestServiceUnit: systemd takes the unit of docs/how-to/agents.md, and its options are
// ones that the program has. The file of agents there can be read.
func TestServiceUnit(t *testing.T) {
	guide, s := read(t, "docs/how-to/agents.md"), newShell(t)
	s.program()
	unit := guide.block(t, "ini")
	// Not beeos.yaml: in that folder it has the settings of the server.
	if !strings.Contains(unit, "ExecStart=/usr/local/bin/beeos connect --file /etc/beeos/agents.yaml\n") {
		t.Fatalf("the unit runs something else:\n%s", unit)
	}
	program := s.run(s.folder, "command -v beeos")
	path := filepath.Join(s.folder, "beeos-agents.service")
	if err := os.WriteFile(path, []byte(strings.Replace(unit, "/usr/local/bin/beeos", strings.TrimSpace(program), 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if analyze, err := exec.LookPath("systemd-analyze"); err == nil {
		if out, err := exec.CommandContext(t.Context(), analyze, "verify", path).CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("%v\n%s", err, out)
		}
	}
	for line := range strings.Lines(unit) {
		line = strings.TrimSpace(line)
		if name, _, ok := strings.Cut(line, "="); line != "" && line[0] != '[' && line[0] != '#' && (!ok || strings.ContainsAny(name, " \t")) {
			t.Errorf("not a line of a unit: %q", line)
		}
	}
	for name, value := range map[string]string{"BOT_TOKEN": "t", "API_KEY": "k", "OAUTH_SECRET": "s", "PEER_TOKEN": "p"} {
		t.Setenv(name, value)
	}
	for name, text := range map[string]string{"key.txt": "secret", "beeos.yaml": guide.block(t, "yaml")} {
		if err := os.WriteFile(filepath.Join(s.folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(s.folder, "project"), 0o700); err != nil { // in which the coding agent works
		t.Fatal(err)
	}
	_, err := bridge.ReadFile(filepath.Join(s.folder, "beeos.yaml"))
	if n := strings.Count(guide.block(t, "yaml"), "- name:"); err != nil || n != 7 {
		t.Errorf("%d agents, %v", n, err)
	}
}

// shellBlock is the shell block that begins with text.
func shellBlock(t *testing.T, p page, text string) string {
	t.Helper()
	for _, block := range p.blocks("sh") {
		if strings.HasPrefix(block, text) {
			return block
		}
	}
	t.Fatalf("%s has no block that begins with %q", p.name, text)
	return ""
}
