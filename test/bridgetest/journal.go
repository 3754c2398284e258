package bridgetest

import (
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"
)

// Journal is a log that a test can read.
type Journal struct {
	mu   sync.Mutex
	text strings.Builder
}

// Await waits until the log has the words.
func (j *Journal) Await(t *testing.T, words string) {
	t.Helper()
	tick, within := time.NewTicker(10*time.Millisecond), time.After(30*time.Second)
	defer tick.Stop()
	for !strings.Contains(j.String(), words) {
		select {
		case <-tick.C:
		case <-within:
			t.Fatalf("the log has no %q:\n%s", words, j.String())
		}
	}
}

func (j *Journal) Write(b []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(b)
}

func (j *Journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

// NewLogger returns a logger that writes everything into log.
func NewLogger(log *Journal) *slog.Logger {
	return slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
}
