package watch

import (
	"context"
	"log/slog"
	"maps"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/bus"
	"github.com/beeos/beeos/internal/engine/ledger"
	"github.com/beeos/beeos/internal/store/database"
)

// rereadEvery is the net under lost notices.
const rereadEvery = time.Second

// Watcher wakes whoever waits on this node, for the terminal reply of a turn or
// for anything new on a channel. A waiter registers before it reads the ledger,
// and the bus subscription behind it is older than any waiter, so no wake-up
// falls between the two.
type Watcher struct {
	ledger *ledger.Ledger
	bus    *bus.Bus
	log    *slog.Logger
	pokes  chan string // turns whose terminal reply is in the ledger

	mu        sync.Mutex
	byTurn    map[string][]*Waiter
	byChannel map[string][]*Waiter
}

// NewWatcher returns a Watcher that hears of news from here on: a notice must
// never find nobody home. Run must be running for those it does not hear of.
func NewWatcher(l *ledger.Ledger, b *bus.Bus, log *slog.Logger) *Watcher {
	w := &Watcher{
		ledger: l, bus: b, log: log, pokes: make(chan string, 4096),
		byTurn: map[string][]*Waiter{}, byChannel: map[string][]*Waiter{},
	}
	b.OnNotice(w.onNotice)
	return w
}

// Waiter is one who waits. Terminal receives the reply; wake is poked when a
// channel has news, or when the agent of a turn has gone away. Both hold one value
// and are never blocked on. seen is the offset up to which a channel has been read.
type Waiter struct {
	Terminal chan *beeos.Message
	wake     chan struct{}
	seen     atomic.Int64
}

// AwaitReply registers a waiter for the terminal reply of a turn, until Leave.
func (w *Watcher) AwaitReply(turn string) *Waiter { return w.add(w.byTurn, turn) }

// Away is poked when the agent has gone away from the turn and may come back.
func (x *Waiter) Away() <-chan struct{} { return x.wake }

// TellAway tells who waits for a turn that its agent has gone away.
func (w *Watcher) TellAway(turn string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, x := range w.byTurn[turn] {
		select {
		case x.wake <- struct{}{}:
		default: // it has been told
		}
	}
}

// Leave ends an AwaitReply.
func (w *Watcher) Leave(turn string, x *Waiter) { w.remove(w.byTurn, turn, x) }

// CountWaiting is how many turns are waited for on this node.
func (w *Watcher) CountWaiting() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.byTurn)
}

func (w *Watcher) add(m map[string][]*Waiter, key string) *Waiter {
	x := &Waiter{Terminal: make(chan *beeos.Message, 1), wake: make(chan struct{}, 1)}
	w.mu.Lock()
	m[key] = append(m[key], x)
	w.mu.Unlock()
	return x
}

func (w *Watcher) remove(m map[string][]*Waiter, key string, x *Waiter) {
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

func (w *Watcher) handReply(m *beeos.Message) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, x := range w.byTurn[m.InReplyTo] {
		select {
		case x.Terminal <- m:
		default: // it has one already; there is only one
		}
	}
}

func (w *Watcher) wakeAll(channel string) { w.wakeBefore(channel, math.MaxInt64) }

// wakeBefore wakes those who have not read the channel up to offset off.
func (w *Watcher) wakeBefore(channel string, off int64) {
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

func (w *Watcher) waitingFor(turn string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.byTurn[turn]) > 0
}

// onNotice runs for every commit of any node.
func (w *Watcher) onNotice(n bus.Notice) {
	switch {
	case n.Channel == "": // notices were missed
		w.askFor("")
		return
	case n.Terminal && n.Message != nil:
		w.handReply(n.Message)
	case n.Terminal && w.waitingFor(n.Turn):
		w.askFor(n.Turn)
	}
	w.wakeAll(n.Channel)
}

// Run looks for the terminal replies that other nodes announced, and once
// a second for all that are still waited for and on every channel that is
// watched, until ctx ends.
func (w *Watcher) Run(ctx context.Context) error {
	tick := time.NewTicker(rereadEvery)
	defer tick.Stop()
	for {
		var turns, channels []string
		select {
		case t := <-w.pokes:
			turns, channels = w.collectPokes(t)
		case <-tick.C:
			turns, channels = w.collectPokes("")
		case <-ctx.Done():
			return nil
		}
		err := database.Within(ctx, func(ctx context.Context) error { return w.reread(ctx, turns, channels) })
		if err != nil && ctx.Err() == nil {
			w.log.Error("re-read of what is waited for", "err", err)
		}
	}
}

func (w *Watcher) reread(ctx context.Context, turns, channels []string) error {
	found, err := w.ledger.Terminals(ctx, turns)
	if err != nil {
		return err
	}
	for i := range found {
		w.handReply(&found[i])
	}
	return w.rereadChannels(ctx, channels)
}

// rereadChannels wakes who watches a channel that has more than they read, or
// that is closed or gone. One look at many channels' ends is cheaper than a look
// of each watcher at its own.
func (w *Watcher) rereadChannels(ctx context.Context, channels []string) error {
	there := make(map[string]bool, len(channels))
	err := w.ledger.ReadEnds(ctx, channels, func(channel string, last int64, closed bool) {
		there[channel] = true
		if closed {
			last = math.MaxInt64
		}
		w.wakeBefore(channel, last)
	})
	if err != nil {
		return err
	}
	for _, channel := range channels {
		if !there[channel] {
			w.wakeAll(channel)
		}
	}
	return nil
}

// askFor asks Run for one turn, or with "" for all. When it has its hands
// full the tick will do.
func (w *Watcher) askFor(turn string) {
	select {
	case w.pokes <- turn:
	default:
	}
}

// collectPokes returns first and whatever else has been poked; with an empty one
// among them, everything that is waited for, and the channels that are watched.
func (w *Watcher) collectPokes(first string) (turns, channels []string) {
	set := map[string]bool{first: true}
	for more := true; more; {
		select {
		case t := <-w.pokes:
			set[t] = true
		default:
			more = false
		}
	}
	if !set[""] {
		return slices.Collect(maps.Keys(set)), nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Collect(maps.Keys(w.byTurn)), slices.Collect(maps.Keys(w.byChannel))
}

// Wait returns the terminal reply to a request, at once when it is there.
func (w *Watcher) Wait(ctx context.Context, turn string, timeout time.Duration) (*beeos.Message, error) {
	x := w.AwaitReply(turn)
	defer w.Leave(turn, x)
	_, unknown := w.ledger.OpenDelivery(ctx, turn) // before the reply is looked for, which may come in between
	if m, err := w.ledger.Terminal(ctx, turn); err != nil || m != nil {
		return m, err
	}
	if unknown != nil {
		return nil, unknown
	}
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	select {
	case m := <-x.Terminal:
		return m, nil
	case <-timer.C:
		return nil, beeos.Errorf(beeos.ServiceTimeout, "no reply within %s", timeout)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
