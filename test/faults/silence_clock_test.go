//go:build silence

package faults

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/beeos/beeos/test/pgtest"
)

// skewVar is by how many seconds the clock of a skewed program is ahead.
const skewVar = "FAULTS_CLOCK_AHEAD"

// skewed builds the program under test with a clock that is wrong. Go reads the time
// of the machine past every library, so it is the time package that is changed, and
// nothing of ours: whoever asks what time it is, for whatever reason, hears the
// wrong one. What passes between two moments stays right, as on a real machine.
func skewed(t *testing.T) string {
	t.Helper()
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file := filepath.Join(strings.TrimSpace(string(root)), "src", "time", "time.go")
	source, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	const read = "func Now() Time {\n\tsec, nsec, mono := runtimeNow()\n"
	if !strings.Contains(string(source), read) {
		t.Fatalf("%s of %s does not read the clock where it did", file, runtime.Version())
	}
	changed := strings.Replace(string(source), read, read+"\tsec += clockAhead\n", 1)
	ahead := `package time

import "syscall"

var clockAhead = func() (n int64) {
	text, _ := syscall.Getenv("` + skewVar + `")
	for _, c := range []byte(text) {
		n = 10*n + int64(c-'0')
	}
	return n
}()
`
	overlay := map[string]map[string]string{"Replace": {file: filepath.Join(dir, "time.go"), filepath.Join(filepath.Dir(file), "ahead.go"): filepath.Join(dir, "ahead.go")}}
	list, err := json.Marshal(overlay)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"time.go": changed, "ahead.go": ahead, "overlay.json": string(list)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(dir, "beeos")
	out, err := exec.Command("go", "build", "-overlay", filepath.Join(dir, "overlay.json"), "-o", path, "github.com/beeos/beeos/cmd/beeos").CombinedOutput()
	if err != nil {
		t.Fatalf("build with a wrong clock: %v\n%s", err, out)
	}
	return path
}

// TestOneClockIsWrong: of two nodes one has a clock that is ahead. The other one's
// calls are neither handed out twice nor ended, and the wrong one says what is wrong
// with it.
func TestOneClockIsWrong(t *testing.T) {
	program := skewed(t)
	for _, ahead := range []time.Duration{20 * time.Second, time.Hour + time.Minute} {
		t.Run(ahead.String(), func(t *testing.T) {
			p := newPair(t, pgtest.URL(t), nil)
			p.b.proc.terminate(patience)
			p.b.program = program
			p.b.env = append(p.b.env, fmt.Sprintf("%s=%d", skewVar, int(ahead.Seconds())))
			p.b.start()
			a := startAgent(t, "agent", spec{Name: "echo", Gateway: p.a.agents, Key: p.key, Identity: t.TempDir() + "/id.json"})
			p.b.online(p.key, a.id, true)

			const calls = 48
			ctx, cancel := context.WithTimeout(t.Context(), 3*patience)
			defer cancel()
			var g errgroup.Group
			for i, n := range []*node{p.a, p.b} {
				c := newCaller(t, n, a.id, p.key, calls)
				for j := range calls {
					g.Go(func() error {
						text := fmt.Sprintf("hold %d of %d", j, i)
						if got, err := c.tool(ctx, text, ""); err != nil || got != echoed(text) {
							return fmt.Errorf("%s: %q, %w", text, got, err)
						}
						return nil
					})
				}
			}
			begun(t, 2*calls, a)
			pause(ctx, 8*time.Second) // the wrong node looks for what is over, once a second
			a.release()
			if err := g.Wait(); err != nil {
				t.Error(err)
			}
			if n := len(a.executions()); n != 2*calls {
				t.Errorf("%d executions of %d calls", n, 2*calls)
			}
			p.b.proc.expect(p.b.proc.Err, "say that its clock is wrong", says("clock and the database's differ"))
			resp, err := http.Get(p.b.rest + "/readyz")
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			if text, _ := io.ReadAll(resp.Body); resp.StatusCode != http.StatusOK || !strings.Contains(string(text), `"warnings":["clock"]`) {
				t.Errorf("readyz: %s %s", resp.Status, text)
			}
			doctor := exec.Command(program, "doctor", "--url", p.b.rest, "--key", p.key)
			doctor.Env = append([]string{"HOME=" + t.TempDir()}, p.b.env...)
			if out, err := doctor.CombinedOutput(); err == nil || !strings.Contains(string(out), "this clock and the database's differ") {
				t.Errorf("doctor: %v\n%s", err, out)
			}
		})
	}
}
