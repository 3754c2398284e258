//go:build unix

package procfile

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/beeos/beeos/test/program"
)

// patience is how long a start or an end may take on a busy machine.
const patience = time.Minute

// process is one line of the Procfile at work.
type process struct {
	*program.Process
	t *testing.T
}

// run starts a line the way goreman does, by the shell.
func run(t *testing.T, name, line string, env []string) *process {
	t.Helper()
	running, err := program.Start(name, env, "/bin/sh", "-c", "exec "+line)
	if err != nil {
		t.Fatal(err)
	}
	p := &process{running, t}
	t.Cleanup(func() {
		p.Kill()
		if t.Failed() {
			t.Logf("%s said:\n%s", name, p.Text())
		}
	})
	return p
}

// expect waits until the process has logged text.
func (p *process) expect(text string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), patience)
	defer cancel()
	if _, err := p.Err.Await(ctx, func(line string) bool { return strings.Contains(line, text) }); err != nil {
		p.t.Fatalf("%s does not print %q: %v", p.Name, text, err)
	}
}

// admin is where the process says that its operator's pages are.
func (p *process) admin() string {
	p.t.Helper()
	for _, line := range p.Err.All() {
		var said struct{ Msg, Admin string }
		if err := json.Unmarshal([]byte(line), &said); err == nil && said.Msg == "ready" && said.Admin != "" {
			return said.Admin
		}
	}
	p.t.Fatalf("%s does not say where its admin listener is", p.Name)
	return ""
}

// terminate asks the process to end, as an init system does; it must, with
// exit code 0.
func (p *process) terminate() {
	p.t.Helper()
	if code, err := p.Terminate(patience); err != nil || code != 0 {
		p.t.Errorf("%s ended with code %d, %v", p.Name, code, err)
	}
}
