//go:build unix

package docs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestAgentsPage runs the three ways of docs/agents.md to write an agent.
func TestAgentsPage(t *testing.T) {
	guide, s := read(t, "docs/agents.md"), newShell(t)
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
		t.Errorf("docs/agents.md has %d shell blocks; this test runs 4 of them", n)
	}
	dev.interrupt()
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
