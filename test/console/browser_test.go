// Package console tests the web console in a real Chromium: that a person can
// come in and look around, wide and narrow, light and dark (rooms_test.go),
// that what is live is (live_test.go), that charts show what was called
// (charts_test.go), that the pages of an agent work and its
// tools can be tried (agent_test.go), that tasks are answered and webhooks told
// again (tasks_test.go), that an agent is made and its skills
// looked after (skills_test.go), that people can talk with agents and decide
// while they do (chat_test.go), that every page holds what a mixed load leaves
// (load_test.go, walk_test.go), that its commands call again (command_test.go), that the inbox works (approvals_test.go), that an
// agent is connected by the command that a page shows (connect_test.go), that
// consent leads back to the program that asked (consent_test.go), and that
// nobody is kept out who uses no mouse or no eyes (axe_test.go). The browser is
// from test/browser; browser_test.go opens it, picture_test.go keeps pictures.
//
// Pictures for docs/images are taken with: go test -tags walk ./test/console -pictures
// Every page in every look is put into a folder with: -album FOLDER
package console

import (
	"context"
	"errors"
	"flag"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/beeos/beeos/agent"
	"github.com/beeos/beeos/test/apptest"
	"github.com/beeos/beeos/test/browser"
)

var (
	pictures = flag.Bool("pictures", false, "write docs/images")
	album    = flag.String("album", "", "folder for a picture of every page in every look")
)

// chromium is the one of all tests; each has windows of its own in it.
var chromium browser.Chromium

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	defer chromium.Close()
	return m.Run()
}

// tab is a person's window.
type tab struct{ *browser.Tab }

func open(t *testing.T) *tab {
	t.Helper()
	return &tab{chromium.Open(t)}
}

func eval[T any](b *tab, expression string) T {
	b.T.Helper()
	return browser.Eval[T](b.Tab, expression)
}

// weather connects a second agent and returns its id and how to stop it.
func weather(t *testing.T, a *apptest.App) (id string, stop func()) {
	t.Helper()
	connected := make(chan string, 1)
	w, err := agent.New(agent.Options{
		Name: "weather", DisplayName: "Weather", Description: "Knows tomorrow's weather, most of the time.",
		Tools: []agent.Tool{
			{Name: "forecast", Description: "Tomorrow's weather at a place."},
			{Name: "warnings", Description: "Storms and floods to come."},
		},
		Log: slog.New(slog.DiscardHandler), Gateway: a.Agents, Key: a.UserKey, Identity: filepath.Join(t.TempDir(), "weather.json"),
		Connected: func(id string) { connected <- id },
	}, func(_ context.Context, _ agent.Message, r *agent.Reply) error { return r.Send("sunny") })
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }() // awaited by stop
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("the weather agent ended with: %v", err)
		}
	})
	t.Cleanup(stop)
	select {
	case id = <-connected:
	case err := <-ended:
		t.Fatalf("the weather agent did not connect: %v", err)
	}
	return id, stop
}

func containsAll(s string, parts ...string) bool {
	for _, part := range parts {
		if !strings.Contains(s, part) {
			return false
		}
	}
	return true
}
