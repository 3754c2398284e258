package invoke

import (
	"context"
	"iter"
	"sync"
	"time"

	"github.com/beeos/beeos"
)

// underway counts the calls that somebody waits for, so that a process that stops
// can answer them first.
type underway struct {
	mu       sync.Mutex
	waiting  int
	stopping bool
	idle     chan struct{} // closed when it stops and nobody waits any more
}

func (u *underway) begin() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.waiting++
}

func (u *underway) end() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.waiting--
	u.noteIdle()
}

func (u *underway) noteIdle() {
	if !u.stopping || u.waiting > 0 {
		return
	}
	select {
	case <-u.idle:
	default:
		close(u.idle)
	}
}

func (u *underway) isStopping() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.stopping
}

// TakeNoMore refuses calls from now on, and returns how many are waited for. What
// those need of others is not refused: an agent at work may call another one.
func (c *Calls) TakeNoMore() int {
	u := &c.underway
	u.mu.Lock()
	defer u.mu.Unlock()
	u.stopping = true
	u.noteIdle()
	return u.waiting
}

// AwaitIdle waits, after TakeNoMore, until nobody waits for a call any more, or ctx
// ends.
func (c *Calls) AwaitIdle(ctx context.Context) {
	select {
	case <-c.underway.idle:
	case <-ctx.Done():
	}
}

// Wait is the Watcher's; who waits is counted.
func (c *Calls) Wait(ctx context.Context, turn string, timeout time.Duration) (*beeos.Message, error) {
	c.underway.begin()
	defer c.underway.end()
	return c.Watcher.Wait(ctx, turn, timeout)
}

// WatchTurn is the Watcher's; who waits is counted.
func (c *Calls) WatchTurn(ctx context.Context, channel, turn string, since int64) iter.Seq2[beeos.Event, error] {
	return func(yield func(beeos.Event, error) bool) {
		c.underway.begin()
		defer c.underway.end()
		c.Watcher.WatchTurn(ctx, channel, turn, since)(yield)
	}
}

// errStopping: nothing was stored.
var errStopping = &beeos.Error{
	Code: beeos.AgentServiceUnavailable, RetryAfter: time.Second,
	Message: "the server is stopping and takes no new calls; send the call again in a moment: another one takes it, or this one when it is back",
}
