//go:build unix

package docs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestStartPages follows the first pages for Go and for any program, block by
// block, on one server. Those for Python and TypeScript are run with their SDKs.
func TestStartPages(t *testing.T) {
	s := newShell(t)
	s.program()
	root, err := filepath.Abs(repo)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(root, filepath.Join(s.folder, "beeos")); err != nil {
		t.Fatal(err)
	}
	golang := read(t, "docs/start/agent-go.md").blocks("sh")
	if len(golang) != 5 {
		t.Fatalf("docs/start/agent-go.md has %d blocks; this test runs 5", len(golang))
	}
	dev := s.start(s.folder, golang[0])
	dev.expect("Ctrl-C stops.")
	s.run(s.folder, golang[1])
	weather := s.start(s.folder, golang[2])
	s.until(s.folder, golang[3], "weather heard: good morning")
	s.until(s.folder, golang[4], "Hello, Ada!")
	weather.interrupt()

	program := read(t, "docs/start/agent-any-program.md").blocks("sh")
	if len(program) != 3 || !strings.HasPrefix(program[0], "#!/bin/sh\n") {
		t.Fatalf("docs/start/agent-any-program.md has %d blocks; this test runs 3, the first as a program", len(program))
	}
	if err := os.WriteFile(filepath.Join(s.folder, "shout"), []byte(program[0]), 0o700); err != nil {
		t.Fatal(err)
	}
	shout := s.start(s.folder, program[1])
	s.until(s.folder, program[2], "GOOD MORNING")
	shout.interrupt()
	dev.interrupt()
}
