package answer

import (
	"context"
	"sync"
	"time"
)

// stopwatch ends a context when an answer has taken its time. It stands still
// while the answer waits for a person.
type stopwatch struct {
	mu      sync.Mutex
	left    time.Duration
	since   time.Time // it runs since then
	waiting int       // calls that wait for a person
	timer   *time.Timer
}

// startStopwatch returns a context that ends with cause after so long; stop ends
// it before.
func startStopwatch(ctx context.Context, limit time.Duration, cause error) (timed context.Context, w *stopwatch, stop func()) {
	timed, cancel := context.WithCancelCause(ctx)
	w = &stopwatch{left: limit, since: time.Now()}
	w.timer = time.AfterFunc(limit, func() { cancel(cause) })
	return timed, w, func() {
		w.timer.Stop()
		cancel(nil)
	}
}

// pause stops the time until resume is called as often as pause.
func (w *stopwatch) pause() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.waiting++; w.waiting == 1 && w.timer.Stop() {
		w.left -= time.Since(w.since)
	}
}

func (w *stopwatch) resume() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.waiting--; w.waiting == 0 {
		w.since = time.Now()
		w.timer.Reset(max(w.left, 0))
	}
}
