//go:build unix

package signin

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// opener stands in for the desktop: what a program wants to show in the
// browser arrives here.
type opener struct {
	addresses chan string
	dir       string
}

// newOpener makes a program that hands over the address it is given.
func newOpener(t *testing.T) *opener {
	t.Helper()
	o := &opener{make(chan string, 8), t.TempDir()}
	pipe := filepath.Join(o.dir, "addresses")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	// For writing as well: else it would end with the first that writes.
	f, err := os.OpenFile(pipe, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	script := "#!/bin/sh\nprintf '%s\\n' \"$1\" > '" + pipe + "'\n"
	if err := os.WriteFile(o.path(), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { // ends when the pipe is closed, which the clean-up waits for
		defer close(done)
		for lines := bufio.NewScanner(f); lines.Scan(); {
			o.addresses <- lines.Text()
		}
	}()
	t.Cleanup(func() {
		f.Close()
		<-done
	})
	return o
}

func (o *opener) path() string { return filepath.Join(o.dir, "xdg-open") }

// environ is an environment in which a program opens the browser here, finds
// nothing of ours and leaves nothing behind. Programs that it starts get the
// same Node.
func (o *opener) environ(t *testing.T, cmd *exec.Cmd) []string {
	home := t.TempDir()
	return append(cmd.Environ(), "BROWSER="+o.path(), "DISPLAY=", "HOME="+home, "XDG_CONFIG_HOME="+home, "MCP_REMOTE_CONFIG_DIR="+home,
		"PATH="+filepath.Dir(cmd.Path)+":"+o.dir+":"+os.Getenv("PATH"))
}
