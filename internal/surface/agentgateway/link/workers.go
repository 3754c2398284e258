package link

import (
	"log/slog"
	"runtime/debug"
	"sync"
)

// workers is the goroutines that connections need: a reader each, and writers
// for a moment at a time. One that panics takes nobody else with it.
type workers struct {
	log  *slog.Logger
	mu   sync.RWMutex
	done bool
	wg   sync.WaitGroup
}

// start runs f beside the caller, or in its place once finish was called.
func (w *workers) start(f func()) {
	w.mu.RLock()
	if w.done {
		w.mu.RUnlock()
		f()
		return
	}
	w.wg.Add(1)
	w.mu.RUnlock()
	go func() {
		defer w.wg.Done()
		defer w.recover()
		f()
	}()
}

func (w *workers) recover() {
	if fault := recover(); fault != nil {
		w.log.Error("agent gateway", "panic", fault, "stack", string(debug.Stack()))
	}
}

// finish waits for all of them.
func (w *workers) finish() {
	w.mu.Lock()
	w.done = true
	w.mu.Unlock()
	w.wg.Wait()
}

// Signal wakes one goroutine that waits for something to happen.
type Signal chan struct{}

// NewSignal returns a signal that nobody has given yet.
func NewSignal() Signal { return make(Signal, 1) }

// Wake gives the signal. It never blocks, and twice is as good as once.
func (s Signal) Wake() {
	select {
	case s <- struct{}{}:
	default:
	}
}
