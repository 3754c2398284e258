//go:build unix

package clients

import (
	"bufio"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/agent"
	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/internal/outward/bridge/a2a"
	"github.com/beeos/beeos/internal/outward/bridge/settings"
	"github.com/beeos/beeos/test/apptest"
	"github.com/beeos/beeos/test/npm"
)

// TestOfficialA2AServers: agents on the A2A project's JavaScript server, of
// today and of 0.3, as agents of ours.
func TestOfficialA2AServers(t *testing.T) {
	if testing.Short() {
		t.Skip("installs npm packages")
	}
	tools, err := npm.Install(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, library := range []string{"1.3", "0.3"} {
		t.Run(library, func(t *testing.T) {
			app := apptest.Start(t, apptest.Config(t))
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			said := peerProgram(ctx, t, tools, library)
			url := heard(ctx, said)
			ids, done := make(chan string, 16), make(chan error, 1)
			serving, stop := context.WithCancel(ctx)
			go func() { // awaited below
				done <- (&a2a.Options{URL: url}).Run(serving, settings.Bridge{Agent: agent.Options{
					Name: "js", Gateway: app.Agents, Key: app.UserKey, Identity: filepath.Join(t.TempDir(), "js.json"), Connected: func(id string) { ids <- id },
				}})
			}()
			defer func() {
				stop()
				if err := <-done; err != nil {
					t.Error(err)
				}
			}()
			askPeer(ctx, t, client.New(app.REST, app.UserKey), <-ids, said)
		})
	}
}

// peerProgram runs the peer and returns its lines.
func peerProgram(ctx context.Context, t *testing.T, tools *npm.Tools, library string) <-chan string {
	t.Helper()
	cmd := tools.Node(ctx, "peer.mjs", library, filepath.Join(tools.Dir, "node_modules"))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	said := make(chan string, 16)
	go func() { // ends with the program
		for lines := bufio.NewScanner(out); lines.Scan(); {
			said <- lines.Text()
		}
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may be gone
		_ = cmd.Wait()         // killed
	})
	return said
}

func askPeer(ctx context.Context, t *testing.T, c *client.Client, id string, said <-chan string) {
	t.Helper()
	first, err := c.Invoke(ctx, id, client.InvokeRequest{Message: "hello"})
	if err != nil || !strings.HasPrefix(first.Text, "you said: hello in ") || !strings.Contains(string(first.Parts), "b.bin") {
		t.Fatalf("%+v, %v", first, err)
	}
	again, err := c.Invoke(ctx, id, client.InvokeRequest{Message: "hello", ContextID: first.ContextID})
	if err != nil || again.Text != first.Text {
		t.Errorf("in another context: %+v, %v, first %q", again, err, first.Text)
	}
	if got, err := c.Invoke(ctx, id, client.InvokeRequest{Message: "message"}); err != nil || got.Text != "just words" {
		t.Errorf("%+v, %v", got, err)
	}
	task, err := c.CreateTask(ctx, id, client.TaskRequest{Message: "pause"})
	if err != nil {
		t.Fatal(err)
	}
	for now := task; now.Status != beeos.TaskInputRequired; {
		if now, err = c.Task(ctx, id, task.ID); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.ContinueTask(ctx, id, task.ID, "blue"); err != nil {
		t.Fatal(err)
	}
	last := ""
	for u, err := range c.WatchTask(ctx, id, task.ID) {
		if err != nil {
			t.Fatal(err)
		}
		last = u.Message.Body
	}
	if last != "You chose blue" {
		t.Errorf("continued: %q", last)
	}
	if task, err = c.CreateTask(ctx, id, client.TaskRequest{Message: "wait"}); err != nil {
		t.Fatal(err)
	}
	if got := heard(ctx, said); got != "begun" {
		t.Fatalf("the peer says %q", got)
	}
	if _, err := c.CancelTask(ctx, id, task.ID, "enough"); err != nil {
		t.Fatal(err)
	}
	if got := heard(ctx, said); got != "cancelled" {
		t.Errorf("the peer says %q", got)
	}
}

// heard is the next line of the peer's.
func heard(ctx context.Context, said <-chan string) string {
	select {
	case line := <-said:
		return line
	case <-ctx.Done():
		return "nothing"
	}
}
