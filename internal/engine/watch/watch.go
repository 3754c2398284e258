// Package watch wakes whoever waits on this node: for the terminal reply of a turn
// (waiters.go), or for everything that happens on a channel (watch.go). Live events
// wait for a slow reader in a Feed, which bounds them.
package watch

import (
	"context"
	"iter"

	"github.com/beeos/beeos"
)

// watchPage is how many messages Watch reads at once.
const watchPage = 200

// Watch yields the channel's messages after offset since, then live events
// and new messages as they come, until ctx ends or the channel is closed and
// read to its end. What is already said of turns under way comes first, as one
// delta each.
func (w *Watcher) Watch(ctx context.Context, channel string, since int64) iter.Seq2[beeos.Event, error] {
	return (&watch{w: w, channel: channel, since: since}).events(ctx)
}

// WatchTurn is Watch for what concerns one request alone; it ends with the
// request's terminal reply, at once when since is past that.
func (w *Watcher) WatchTurn(ctx context.Context, channel, turn string, since int64) iter.Seq2[beeos.Event, error] {
	return (&watch{w: w, channel: channel, turn: turn, since: since}).events(ctx)
}

// watch is the state of one Watch.
type watch struct {
	w       *Watcher
	channel string
	turn    string // the only one to watch; empty = all
	since   int64
	live    *Feed
	heard   map[string]place
}

// place is how far the live events of a turn have gone out.
type place struct {
	attempt int
	seq     int64
}

func (w *watch) events(ctx context.Context) iter.Seq2[beeos.Event, error] {
	return func(yield func(beeos.Event, error) bool) {
		news := w.w.add(w.w.byChannel, w.channel)
		defer w.w.remove(w.w.byChannel, w.channel, news)
		w.heard, w.live = map[string]place{}, NewFeed(w.turn)
		defer w.w.bus.Watch(w.channel, w.live.Push)()
		say := func(ev *beeos.Event) bool { return yield(*ev, nil) }
		more, err := w.catchUp(ctx, say)
		for err == nil && more {
			news.seen.Store(w.since)
			select {
			case <-news.wake: // live events that came before the message go out before it
				if more = w.flush(ctx, say); more {
					more, err = w.tellNew(ctx, say)
				}
			case <-w.live.ready:
				more = w.flush(ctx, say)
			case <-ctx.Done():
				return
			}
		}
		if err != nil {
			YieldError(yield, err)
		}
	}
}

// tellNew yields the messages that were stored since; false when there will be
// no more, or the reader has had enough.
func (w *watch) tellNew(ctx context.Context, yield func(*beeos.Event) bool) (more bool, err error) {
	ended, err := w.ended(ctx)
	if err != nil {
		return false, err
	}
	return w.replay(ctx, ended, yield)
}

// replay yields stored messages. Whether there are more after them is read before
// they are: what has ended by then has them all.
func (w *watch) replay(ctx context.Context, ended bool, yield func(*beeos.Event) bool) (more bool, err error) {
	for {
		ms, err := w.w.ledger.Messages(ctx, w.channel, w.since, watchPage)
		if err != nil {
			return false, err
		}
		for i := range ms {
			m := &ms[i]
			w.since = m.Offset
			if w.turn != "" && m.ID != w.turn && m.InReplyTo != w.turn {
				continue
			}
			if !yield(&beeos.Event{Kind: beeos.EventMessage, Channel: w.channel, Turn: m.InReplyTo, Message: m}) {
				return false, nil
			}
			if m.Type.Terminal() {
				delete(w.heard, m.InReplyTo)
				if w.turn != "" {
					return false, nil
				}
			}
		}
		if len(ms) < watchPage {
			return !ended, nil
		}
	}
}

func (w *watch) ended(ctx context.Context) (bool, error) {
	if w.turn != "" {
		done, err := w.w.ledger.Terminal(ctx, w.turn)
		return done != nil, err
	}
	ch, err := w.w.ledger.Channel(ctx, w.channel)
	return ch.Closed, err
}

// catchUp yields what is stored, then the text so far of the turns under way, so
// that whoever joins late, or again, has what the others have. The text is fetched
// first: who reads a question may answer it at once, and then the turn ends before
// its node can be asked what was said before the question.
func (w *watch) catchUp(ctx context.Context, yield func(*beeos.Event) bool) (more bool, err error) {
	ended, err := w.ended(ctx)
	if err != nil {
		return false, err
	}
	said, err := w.fetchSaid(ctx, ended)
	if err != nil {
		return false, err
	}
	if more, err = w.replay(ctx, ended, yield); err != nil || !more {
		return false, err
	}
	for i := range said {
		if _, open := w.heard[said[i].Turn]; open && !yieldSaid(&said[i], yield) {
			return false, nil
		}
	}
	return true, nil
}

// fetchSaid returns the text so far of every turn under way.
func (w *watch) fetchSaid(ctx context.Context, ended bool) (said []beeos.Event, err error) {
	if ended {
		return nil, nil
	}
	turns := []string{w.turn}
	if w.turn == "" {
		if turns, err = w.w.ledger.OpenTurns(ctx, w.channel); err != nil {
			return nil, err
		}
	}
	for _, turn := range turns {
		if ev, ok := w.snapshot(ctx, turn); ok {
			said = append(said, ev)
		}
	}
	return said, nil
}

func (w *watch) flush(ctx context.Context, yield func(*beeos.Event) bool) bool {
	events := w.live.Take()
	for i := range events {
		if !w.yieldMessage(ctx, &events[i], yield) {
			return false
		}
	}
	return true
}

// yieldMessage yields a live event, unless a snapshot had it or it comes from an
// instance that was given up on. The first words of another instance replace
// those of the one before. Where some were missed, or a snapshot had a part of
// it, all the text so far comes instead, now or with a later event.
func (w *watch) yieldMessage(ctx context.Context, ev *Piece, yield func(*beeos.Event) bool) bool {
	last, known := w.heard[ev.Turn]
	next := last.seq + 1
	if ev.Attempt > last.attempt {
		next = 1
	}
	switch {
	case ev.Seq == 0: // not from an agent's gateway, which counts
		return yield(&ev.Event)
	case ev.Attempt < last.attempt, ev.Seq < next:
		return ev.Kind == beeos.EventDelta || yield(&ev.Event)
	case ev.first != next && ev.Kind == beeos.EventDelta:
		said, ok := w.snapshot(ctx, ev.Turn)
		return !ok || yieldSaid(&said, yield)
	case ev.first > next:
		return yield(&ev.Event) // what is missing is still missing
	case ev.Kind == beeos.EventDelta && known && ev.Attempt > last.attempt && ev.Reasoning == "":
		ev.SoFar = true
	}
	w.heard[ev.Turn] = place{ev.Attempt, ev.Seq}
	return yield(&ev.Event)
}

// snapshot asks a turn's node for the text so far, and what was thought and done
// for it; what comes after that is news.
func (w *watch) snapshot(ctx context.Context, turn string) (ev beeos.Event, ok bool) {
	if ev, ok = w.w.bus.Snapshot(ctx, turn); ok {
		w.heard[turn] = place{ev.Attempt, ev.Seq}
	}
	return ev, ok
}

// yieldSaid yields the text so far, if there is any.
func yieldSaid(ev *beeos.Event, yield func(*beeos.Event) bool) bool {
	return ev.Text == "" && ev.Reasoning == "" && ev.Parts == nil || yield(ev)
}

// YieldError ends an iterator of events with an error.
//
//go:noinline // its event would lie under the wait of every call
func YieldError(yield func(beeos.Event, error) bool, err error) { yield(beeos.Event{}, err) }
