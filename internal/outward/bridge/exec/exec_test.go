package exec_test

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/beeos/beeos/agent"
	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/internal/outward/bridge/exec"
	"github.com/beeos/beeos/internal/outward/bridge/settings"
	"github.com/beeos/beeos/internal/outward/bridge/upstream"
	"github.com/beeos/beeos/test/apptest"
	"github.com/beeos/beeos/test/bridgetest"
)

func TestProgramAnswers(t *testing.T) {
	app := apptest.Start(t, apptest.Config(t))
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	connected, done := make(chan string, 1), make(chan error, 1)
	var log bridgetest.Journal
	go func() { // awaited below
		done <- (&exec.Options{Command: bridgetest.Command(self)}).Run(ctx, settings.Bridge{
			Env: append(os.Environ(), "BRIDGE_TEST_PROGRAM=1"),
			Agent: agent.Options{
				Name: "program", Description: "Does what it is told.", Log: slog.New(slog.NewTextHandler(&log, nil)),
				Gateway: app.Agents, Key: app.UserKey, Identity: filepath.Join(t.TempDir(), "id.json"),
				Connected: func(id string) { connected <- id },
			},
		})
	}()
	id := <-connected
	c := client.New(app.REST, app.UserKey)

	for _, step := range []struct {
		text, want string
		failed     bool
	}{
		{"hi", "you said: hi", false},
		{"two\nlines", "you said: two\nlines", false},
		{"fail", "as you wish", true},
		{"noise", "fine", false},
		{"crash", "the program behind this agent ended before it had answered; try again", true},
		{"still there?", "you said: still there?", false},
		{"shout", "the program behind this agent ended before it had answered; try again", true},
		{"and now?", "you said: and now?", false}, // a line that is too long is not the last one
	} {
		got, err := c.Invoke(t.Context(), id, client.InvokeRequest{Message: step.text})
		if err != nil {
			t.Fatalf("%s: %v", step.text, err)
		}
		if got.Text != step.want || got.IsError != step.failed {
			t.Errorf("%s: %+v, want %q", step.text, got, step.want)
		}
	}
	bridgetest.CancelTurn(t, app, id, "hang", func() {
		log.Await(t, "hanging") // a program that never got the message need not hear of its end
	})

	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	for _, want := range []string{"hello from stderr", "not JSON", "starting it again", "enough", "bye"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log has no %q:\n%s", want, log.String())
		}
	}
}

func TestMissingProgramIsRefused(t *testing.T) {
	for _, command := range []upstream.Command{{}, bridgetest.Command("./no-such-program")} {
		if err := (&exec.Options{Command: command}).Run(t.Context(), settings.Bridge{}); err == nil {
			t.Errorf("%+v: no error", command)
		}
	}
}
