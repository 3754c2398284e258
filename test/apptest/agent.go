package apptest

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"testing"

	"github.com/beeos/beeos/agent"
)

// Connect runs an agent of the first user's until the test ends, and returns
// its id once it is connected. The options need a name and what is special.
func (a *App) Connect(t testing.TB, opt agent.Options, handle agent.Handler) (id string) {
	t.Helper()
	connected := make(chan string, 1)
	opt.Log, opt.Gateway, opt.Key, opt.Identity = slog.New(slog.DiscardHandler), a.Agents, a.UserKey, filepath.Join(t.TempDir(), opt.Name+".json")
	opt.Connected = func(id string) {
		select {
		case connected <- id:
		default: // once more, after a restart
		}
	}
	w, err := agent.New(opt, handle)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }() // awaited at the end
	select {
	case id = <-connected:
	case err := <-ended:
		cancel()
		t.Fatalf("%s did not connect: %v", opt.Name, err)
	}
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("%s ended with: %v", opt.Name, err)
		}
	})
	return id
}
