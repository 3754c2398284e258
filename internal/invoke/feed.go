package invoke

import (
	"sync"

	"github.com/beeos/beeos"
)

// feedLength bounds how many events wait for a slow reader. Beyond it text
// is run together and the rest is dropped: live events may be lost, and a
// slow reader must not hold up the agent.
const feedLength = 256

// feed holds the live events of one turn, or of a channel, between the bus and its reader.
type feed struct {
	turn    string
	ready   chan struct{}
	mu      sync.Mutex
	events  []beeos.Event
	attempt int
}

// newFeed takes the events of one turn, or with "" those of all.
func newFeed(turn string) *feed { return &feed{turn: turn, ready: make(chan struct{}, 1)} }

// news is poked when events are there; a nil feed never has any.
func (f *feed) news() <-chan struct{} {
	if f == nil {
		return nil
	}
	return f.ready
}

func (f *feed) push(ev beeos.Event) {
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
	if n := len(f.events); n >= feedLength {
		if last := &f.events[n-1]; ev.Kind == beeos.EventDelta && last.Kind == beeos.EventDelta && ev.Turn == last.Turn && ev.Part == nil && last.Part == nil {
			last.Text += ev.Text
			last.Reasoning += ev.Reasoning
			last.Seq = ev.Seq
		}
	} else {
		f.events = append(f.events, ev)
	}
	select {
	case f.ready <- struct{}{}:
	default:
	}
}

func (f *feed) take() []beeos.Event {
	if f == nil {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	evs := f.events
	f.events = nil
	return evs
}
