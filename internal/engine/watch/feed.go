package watch

import (
	"sync"

	"github.com/beeos/beeos"
)

// What may wait for a slow reader, who must not hold up the agent. Live events
// may be lost; the terminal reply has it all.
const (
	feedCalm   = 32      // events; beyond, text that follows text is run together
	feedLength = 256     // events; beyond, only questions are kept
	feedBytes  = 1 << 20 // of text and data
	feedJoined = 4 << 10 // bytes of text in one event that was run together
	feedMost   = 1024    // events of any kind
)

// Feed holds the live events of one turn, or of a channel, between the bus and its reader.
type Feed struct {
	turn    string
	ready   chan struct{}
	mu      sync.Mutex
	events  []Piece
	size    int
	attempt int
}

// Piece is a live event, or several that were run together.
type Piece struct {
	beeos.Event
	first int64 // the Seq of the first of them
}

// NewFeed takes the events of one turn, or with "" those of all.
func NewFeed(turn string) *Feed { return &Feed{turn: turn, ready: make(chan struct{}, 1)} }

// News is poked when events are there; a nil feed never has any.
func (f *Feed) News() <-chan struct{} {
	if f == nil {
		return nil
	}
	return f.ready
}

// Push takes an event from the bus.
func (f *Feed) Push(ev beeos.Event) {
	if f.turn != "" && ev.Turn != f.turn {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.turn != "" {
		if ev.Attempt < f.attempt {
			return // an instance that was given up on
		}
		f.attempt = ev.Attempt
	}
	f.add(&ev)
	select {
	case f.ready <- struct{}{}:
	default:
	}
}

// add keeps an event, by itself or as a part of the last one, or drops it; f.mu
// is held.
func (f *Feed) add(ev *beeos.Event) {
	n := len(f.events)
	size := len(ev.Text) + len(ev.Reasoning) + len(ev.Part) + len(ev.Data)
	passing := ev.Kind == beeos.EventDelta || ev.Kind == beeos.EventProgress || ev.Kind == beeos.EventLog
	if n >= feedMost || passing && f.size+size > feedBytes {
		return
	}
	if n >= feedCalm && join(&f.events[n-1].Event, ev) {
		f.size += size
		return
	}
	if passing && n >= feedLength {
		return
	}
	f.size += size
	f.events = append(f.events, Piece{*ev, ev.Seq})
}

// join makes one event of two that follow each other, if that loses nothing:
// text goes on, and of two reports of progress the later one counts.
func join(last, ev *beeos.Event) bool {
	if ev.Turn != last.Turn || ev.Attempt != last.Attempt || ev.Kind != last.Kind || ev.SoFar {
		return false
	}
	switch {
	case ev.Kind == beeos.EventDelta && (ev.Seq == 0 || ev.Seq == last.Seq+1):
		text, reasoning := len(last.Text)+len(ev.Text), len(last.Reasoning)+len(ev.Reasoning)
		if ev.Part != nil || last.Part != nil || text > 0 && reasoning > 0 || text+reasoning > feedJoined {
			return false
		}
		last.Text += ev.Text
		last.Reasoning += ev.Reasoning
		last.Seq = ev.Seq
	case ev.Kind == beeos.EventProgress:
		*last = *ev
	default:
		return false
	}
	return true
}

// Take returns the events that have come since it was last called.
func (f *Feed) Take() []Piece {
	if f == nil {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	evs := f.events
	f.events, f.size = nil, 0
	return evs
}
