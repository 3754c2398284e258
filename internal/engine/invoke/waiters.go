package invoke

import (
	"context"
	"maps"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/bus"
)

// rereadEvery is the net under lost notices.
const rereadEvery = time.Second

// waiters is who waits on this node, for the terminal reply of a turn or for
// anything new on a channel. A waiter registers before it reads the ledger,
// and the bus subscription behind it is older than any waiter, so no wake-up
// falls between the two.
type waiters struct {
	mu        sync.Mutex
	byTurn    map[string][]*waiter
	byChannel map[string][]*waiter
}

// waiter is one who waits. terminal receives the reply; wake is poked when a
// channel has news. Both hold one value and are never blocked on. seen is the
// offset up to which a channel has been read.
type waiter struct {
	terminal chan *beeos.Message
	wake     chan struct{}
	seen     atomic.Int64
}

func (w *waiters) add(m map[string][]*waiter, key string) *waiter {
	x := &waiter{terminal: make(chan *beeos.Message, 1), wake: make(chan struct{}, 1)}
	w.mu.Lock()
	m[key] = append(m[key], x)
	w.mu.Unlock()
	return x
}

func (w *waiters) remove(m map[string][]*waiter, key string, x *waiter) {
	w.mu.Lock()
	defer w.mu.Unlock()
	list := m[key]
	if i := slices.Index(list, x); i >= 0 {
		list = slices.Delete(list, i, i+1)
	}
	if len(list) == 0 {
		delete(m, key)
		return
	}
	m[key] = list
}

func (w *waiters) finish(m *beeos.Message) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, x := range w.byTurn[m.InReplyTo] {
		select {
		case x.terminal <- m:
		default: // it has one already; there is only one
		}
	}
}

func (w *waiters) poke(channel string) { w.pokeBefore(channel, math.MaxInt64) }

// pokeBefore wakes those who have not read the channel up to offset off.
func (w *waiters) pokeBefore(channel string, off int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, x := range w.byChannel[channel] {
		if x.seen.Load() >= off {
			continue
		}
		select {
		case x.wake <- struct{}{}:
		default:
		}
	}
}

func (w *waiters) waitingFor(turn string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.byTurn[turn]) > 0
}

// onNotice runs for every commit of any node.
func (c *Calls) onNotice(n bus.Notice) {
	switch {
	case n.Channel == "": // notices were missed
		c.poke("")
		return
	case n.Terminal && n.Message != nil:
		c.waiters.finish(n.Message)
	case n.Terminal && c.waiters.waitingFor(n.Turn):
		c.poke(n.Turn)
	}
	c.waiters.poke(n.Channel)
}

// reread looks for the terminal replies that other nodes announced, and once
// a second for all that are still waited for and on every channel that is
// watched.
func (c *Calls) reread(ctx context.Context) error {
	tick := time.NewTicker(rereadEvery)
	defer tick.Stop()
	for {
		var turns, channels []string
		select {
		case t := <-c.pokes:
			turns, channels = c.collect(t)
		case <-tick.C:
			turns, channels = c.collect("")
		case <-ctx.Done():
			return nil
		}
		found, err := c.opt.Ledger.Terminals(ctx, turns)
		if err == nil {
			err = c.rereadChannels(ctx, channels)
		}
		if err != nil {
			if ctx.Err() == nil {
				c.opt.Log.Error("re-read of what is waited for", "err", err)
			}
			continue
		}
		for i := range found {
			c.waiters.finish(&found[i])
		}
	}
}

// rereadChannels wakes who watches a channel that has more than they read, or
// that is closed or gone. One look at many channels' ends is cheaper than a look
// of each watcher at its own.
func (c *Calls) rereadChannels(ctx context.Context, channels []string) error {
	there := make(map[string]bool, len(channels))
	err := c.opt.Ledger.Ends(ctx, channels, func(channel string, last int64, closed bool) {
		there[channel] = true
		if closed {
			last = math.MaxInt64
		}
		c.waiters.pokeBefore(channel, last)
	})
	if err != nil {
		return err
	}
	for _, channel := range channels {
		if !there[channel] {
			c.waiters.poke(channel)
		}
	}
	return nil
}

// poke asks reread for one turn, or with "" for all. When it has its hands
// full the tick will do.
func (c *Calls) poke(turn string) {
	select {
	case c.pokes <- turn:
	default:
	}
}

// collect returns first and whatever else has been poked; with an empty one
// among them, everything that is waited for, and the channels that are watched.
func (c *Calls) collect(first string) (turns, channels []string) {
	set := map[string]bool{first: true}
	for more := true; more; {
		select {
		case t := <-c.pokes:
			set[t] = true
		default:
			more = false
		}
	}
	if !set[""] {
		return slices.Collect(maps.Keys(set)), nil
	}
	c.waiters.mu.Lock()
	defer c.waiters.mu.Unlock()
	return slices.Collect(maps.Keys(c.waiters.byTurn)), slices.Collect(maps.Keys(c.waiters.byChannel))
}
