//go:build unix

// Package examples holds programs to learn from, each in a folder of its own:
// echo, tools and streaming with the Go SDK, curl without any. This test runs
// every one of them against a real BeeOS.
package examples

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/test/apptest"
)

// world is a running BeeOS, and where its agents find it.
type world struct {
	t   *testing.T
	c   *client.Client
	env []string
}

func newWorld(t *testing.T) *world {
	app := apptest.Start(t, apptest.Config(t))
	home := t.TempDir()
	return &world{t: t, c: client.New(app.REST, app.UserKey), env: append(os.Environ(),
		"BEEOS_DATA="+app.Data, "AGENT_GATEWAY_URL=", "BEEOS_KEY=", "BEEOS_JOIN_TOKEN=", "XDG_CONFIG_HOME="+home)}
}

// build compiles an example and returns the program.
func (w *world) build(name string) string {
	w.t.Helper()
	program := filepath.Join(w.t.TempDir(), name)
	out, err := exec.CommandContext(w.t.Context(), "go", "build", "-o", program, "./"+name).CombinedOutput()
	if err != nil {
		w.t.Fatalf("build %s: %v\n%s", name, err, out)
	}
	return program
}

// start runs a program until the test ends, and returns its agent once that
// is online. The program must stop by itself when it is asked to.
func (w *world) start(agent string, command ...string) *client.Agent {
	w.t.Helper()
	cmd := exec.Command(command[0], command[1:]...)
	var log bytes.Buffer
	cmd.Env, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = w.env, &log, &log, time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		signal := syscall.SIGTERM
		if filepath.Base(command[0]) == "bash" {
			signal = syscall.SIGKILL // a shell ends with its poll, not before
		}
		_ = syscall.Kill(-cmd.Process.Pid, signal)
		if err := cmd.Wait(); err != nil && signal == syscall.SIGTERM {
			w.t.Errorf("%s: %v", agent, err)
		}
		if w.t.Failed() {
			w.t.Logf("%s said:\n%s", agent, &log)
		}
	})
	deadline := time.After(20 * time.Second)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		if a, err := w.c.Find(w.t.Context(), agent); err == nil && a.Online {
			return a
		}
		select {
		case <-tick.C:
		case <-deadline:
			w.t.Fatalf("%s does not come online", agent)
		}
	}
}

func (w *world) says(a *client.Agent, message, want string) {
	w.t.Helper()
	got, err := w.c.Invoke(w.t.Context(), a.ID, client.InvokeRequest{Message: message})
	if err != nil || got.Text != want {
		w.t.Errorf("%s answered %+v, %v; want %q", a.Name, got, err, want)
	}
}

func TestEcho(t *testing.T) {
	w := newWorld(t)
	w.says(w.start("parrot", w.build("echo")), "hi", "you said: hi")
}

func TestCurl(t *testing.T) {
	w := newWorld(t)
	a := w.start("curl-example", "bash", "curl/agent.sh")
	for _, text := range []string{"hi", `"quoted" \ and` + "\nbroken", `{"type":"hello","body":"x"}`, "ünï ✓"} {
		w.says(a, text, "you said: "+text)
	}
}

func TestStreaming(t *testing.T) {
	w := newWorld(t)
	a := w.start("streaming-example", w.build("streaming"))
	var text, thoughts string
	deltas := 0
	for ev, err := range w.c.Stream(t.Context(), a.ID, client.InvokeRequest{Message: "one two three"}) {
		if err != nil {
			t.Fatal(err)
		}
		thoughts += ev.Reasoning
		if ev.Delta != "" {
			text += ev.Delta
			deltas++
		}
		if ev.Done != nil && ev.Done.Text != "1 one, 2 two, 3 three, that is all." {
			t.Errorf("done: %+v", ev.Done)
		}
	}
	if !strings.HasPrefix(text, "1 one, 2 two, 3 three, ") || deltas < 2 || thoughts != "There are 3 words to count." {
		t.Errorf("streamed %q in %d pieces, thought %q", text, deltas, thoughts)
	}
}

func TestTools(t *testing.T) {
	w := newWorld(t)
	a := w.start("tools-example", w.build("tools"))
	for _, c := range []struct {
		tool, arguments  string
		text, structured string
		failed           bool
	}{
		{"divide", `{"a":1,"b":4}`, "0.25", `{"quotient":0.25}`, false},
		{"divide", `{"a":1,"b":0}`, "nothing can be divided by zero; choose another b", "", true},
		{"define", `{"word":"bee"}`, "An insect that makes honey.", "", false},
		{"define", `{}`, "which word? elicitation/create: the caller cannot be asked this", "", true},
	} {
		got, err := w.c.CallTool(context.Background(), a, c.tool, json.RawMessage(c.arguments))
		if err != nil {
			t.Errorf("%s %s: %v", c.tool, c.arguments, err)
			continue
		}
		if got.Text() != c.text || string(got.Structured) != c.structured || got.IsError != c.failed {
			t.Errorf("%s %s: %q %s %v", c.tool, c.arguments, got.Text(), got.Structured, got.IsError)
		}
	}
	if _, err := w.c.CallTool(context.Background(), a, "divide", json.RawMessage(`{"a":"x"}`)); err == nil {
		t.Error("arguments that do not fit the schema are accepted")
	}
	if got, err := w.c.Invoke(context.Background(), a.ID, client.InvokeRequest{Message: "hi"}); err == nil && !got.IsError {
		t.Errorf("it talks: %+v", got)
	}
}
