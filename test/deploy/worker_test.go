//go:build release && linux

package deploy

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/beeos/beeos/agent"
	"github.com/beeos/beeos/client"
)

// worker is an agent outside of the container that answers only once it may, and
// counts what it is given.
type worker struct {
	id      string
	began   chan string
	release chan struct{}

	mu    sync.Mutex
	times map[string]int
}

func startWorker(t *testing.T, gateway, key string) *worker {
	t.Helper()
	w := &worker{began: make(chan string, 100), release: make(chan struct{}), times: map[string]int{}}
	connected := make(chan string, 10)
	a, err := agent.New(agent.Options{
		Name: "worker", Gateway: gateway, Key: key, Identity: filepath.Join(t.TempDir(), "worker.json"), Log: slog.New(slog.DiscardHandler),
		Connected: func(id string) { connected <- id },
	}, func(ctx context.Context, m agent.Message, r *agent.Reply) error {
		w.mu.Lock()
		w.times[m.Text]++
		w.mu.Unlock()
		w.began <- m.Text
		if strings.HasPrefix(m.Text, "wait") {
			select {
			case <-w.release:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return r.Send("done: " + m.Text)
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx) }() // awaited at the end
	t.Cleanup(func() {
		cancel()
		<-ended
	})
	select {
	case w.id = <-connected:
	case <-time.After(patience):
		t.Fatal("the agent does not connect")
	}
	return w
}

// call asks the agent, with the text as its key.
func (w *worker) call(t *testing.T, url, key, text string) error {
	t.Helper()
	answer, err := client.New(url, key).Invoke(t.Context(), w.id, client.InvokeRequest{Message: text, IdempotencyKey: text})
	if err == nil && answer.Text != "done: "+text {
		err = fmt.Errorf("%s was answered %q", text, answer.Text)
	}
	return err
}

// checkOnce: however often it was asked, the agent was given each text once.
func (w *worker) checkOnce(t *testing.T) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	for text, n := range w.times {
		if n != 1 {
			t.Errorf("the agent was given %q %d times", text, n)
		}
	}
}

// repeat makes a call again until it is answered, as a client does that was told that
// the server stops.
func repeat(t *testing.T, call func(string) error, text string) (err error) {
	t.Helper()
	for end := time.Now().Add(patience); ; {
		if err = call(text); err == nil || time.Now().After(end) {
			return err
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-t.Context().Done():
			return err
		}
	}
}
