//go:build silence

package faults

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/beeos/beeos/test/clock"
	"github.com/beeos/beeos/test/pgtest"
)

// TestOneClockIsWrong: of two nodes one has a clock that is ahead. The other one's
// calls are neither handed out twice nor ended, and the wrong one says what is wrong
// with it.
func TestOneClockIsWrong(t *testing.T) {
	program, err := clock.Build(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, ahead := range []time.Duration{20 * time.Second, time.Hour + time.Minute} {
		t.Run(ahead.String(), func(t *testing.T) {
			p := newPair(t, pgtest.URL(t), nil)
			p.b.proc.terminate(patience)
			p.b.program = program
			wrong, err := clock.New(filepath.Join(t.TempDir(), "clock"))
			if err == nil {
				err = wrong.Set(ahead)
			}
			if err != nil {
				t.Fatal(err)
			}
			p.b.env = append(p.b.env, wrong.Env())
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
