//go:build unix

// Package clock gives a program under test a clock that is wrong from one moment to
// the next, while the machine's stays right. Go reads the time past every library,
// so it is the time package that is changed, and nothing of ours: whoever asks what
// time it is, for whatever reason, hears the wrong one. What passes between two
// moments stays right, as on a real machine.
package clock

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// variable names the file of a program's clock.
const variable = "BEEOS_TEST_CLOCK"

// Clock is the clock of a process. It is a file that the process has in its memory.
type Clock struct{ path string }

// New makes a clock that is right, in a file of that path.
func New(path string) (*Clock, error) {
	c := &Clock{path}
	return c, c.Set(0)
}

// Env is the environment variable by which a program has this clock.
func (c *Clock) Env() string { return variable + "=" + c.path }

// Set sets the clock ahead by so many seconds; below zero it is behind.
func (c *Clock) Set(ahead time.Duration) error {
	f, err := os.OpenFile(c.path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.WriteAt(binary.NativeEndian.AppendUint64(nil, uint64(int64(ahead.Seconds()))), 0)
	return err
}

// read is how the time package begins to tell the time.
const read = "func Now() Time {\n\tsec, nsec, mono := runtimeNow()\n"

// source is what is added to the time package.
const source = `package time

import (
	"syscall"
	"unsafe"
)

var clockAhead = func() *int64 {
	path, _ := syscall.Getenv("` + variable + `")
	if path == "" {
		return new(int64)
	}
	fd, err := syscall.Open(path, syscall.O_RDONLY, 0)
	if err != nil {
		panic("open the clock: " + err.Error())
	}
	data, err := syscall.Mmap(fd, 0, 8, syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		panic("read the clock: " + err.Error())
	}
	return (*int64)(unsafe.Pointer(&data[0]))
}()
`

// Build builds the server with such a clock into a folder, which takes minutes the
// first time: everything depends on the time package.
func Build(ctx context.Context, dir string) (path string, err error) {
	root, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
	if err != nil {
		return "", err
	}
	file := filepath.Join(strings.TrimSpace(string(root)), "src", "time", "time.go")
	text, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	if !strings.Contains(string(text), read) {
		return "", fmt.Errorf("%s of %s does not read the clock where it did", file, runtime.Version())
	}
	changed, added, overlay := filepath.Join(dir, "time.go"), filepath.Join(dir, "ahead.go"), filepath.Join(dir, "overlay.json")
	list, err := json.Marshal(map[string]map[string]string{"Replace": {file: changed, filepath.Join(filepath.Dir(file), "ahead.go"): added}})
	if err != nil {
		return "", err
	}
	for name, content := range map[string]string{
		changed: strings.Replace(string(text), read, read+"\tsec += *clockAhead\n", 1), added: source, overlay: string(list),
	} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			return "", err
		}
	}
	path = filepath.Join(dir, "beeos-clock")
	out, err := exec.CommandContext(ctx, "go", "build", "-overlay", overlay, "-o", path, "github.com/beeos/beeos/cmd/beeos").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build with a wrong clock: %w\n%s", err, out)
	}
	return path, nil
}
