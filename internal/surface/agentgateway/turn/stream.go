package turn

import (
	"encoding/json"
	"time"

	"github.com/beeos/beeos"
)

const (
	gatherFor = 20 * time.Millisecond // deltas that come faster travel together
	gatherMax = 4 << 10               // bytes
	maxText   = 1 << 20               // of a turn's text so far

	// MaxExtra bounds what is kept of a turn's reasoning, and of its parts, in
	// bytes.
	MaxExtra = 64 << 10
)

// AddText takes a piece of text, or of reasoning. The first goes out at once;
// those that follow within gatherFor are gathered.
func (t *Turn) AddText(text string, thoughts bool) {
	now := t.now()
	t.mu.Lock()
	defer t.mu.Unlock()
	if thoughts {
		t.reasoning = appendExtra(t.reasoning, text)
	} else {
		if t.worded.IsZero() {
			t.worded = now
		}
		t.appendText(text)
	}
	if thoughts != t.thoughts {
		t.flush(now)
		t.thoughts = thoughts
	}
	if len(t.pending) == 0 && now.Sub(t.published) >= gatherFor {
		t.publishText(now, text)
		return
	}
	t.pending = append(t.pending, text...)
	switch {
	case len(t.pending) >= gatherMax:
		t.flush(now)
	case !t.queued:
		t.queued = true
		time.AfterFunc(gatherFor, t.PublishGathered)
	}
}

// PublishGathered sends the text that has gathered now, since its time has come or
// because something is about to be stored that was said after it.
func (t *Turn) PublishGathered() {
	now := t.now()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.queued = false
	t.flush(now)
}

// ReplaceText takes all the text that the agent had streamed by the time its last
// connection broke, and tells it to whoever watches: what it said while it had no
// connection nobody has heard, and its next word may be its last.
func (t *Turn) ReplaceText(text string) {
	now := t.now()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.flush(now)
	t.text, t.truncated = t.text[:0], false
	t.appendText(text)
	t.publish(beeos.Event{Kind: beeos.EventDelta, Text: string(t.text), SoFar: true})
}

// appendText keeps the text so far, up to a bound; t.mu is held.
func (t *Turn) appendText(text string) {
	if t.truncated || len(t.text)+len(text) > maxText {
		t.truncated = true
		return
	}
	t.text = append(t.text, text...)
}

// AddPart takes a piece of the answer that is not text.
func (t *Turn) AddPart(raw json.RawMessage) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.parts) > 0 {
		t.parts = appendExtra(t.parts, ","+string(raw))
	} else {
		t.parts = appendExtra(nil, string(raw))
	}
	t.flush(t.now())
	t.publish(beeos.Event{Kind: beeos.EventDelta, Part: raw})
}

// appendExtra keeps what a late joiner would like to have but can do without.
func appendExtra(kept []byte, more string) []byte {
	if len(kept)+len(more) > MaxExtra {
		return kept
	}
	return append(kept, more...)
}

// Snapshot returns the text so far as one delta in place of those that were
// published. What has gathered is published first, so that it is among them.
func (t *Turn) Snapshot() beeos.Event {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.flush(t.now())
	ev := beeos.Event{
		Kind: beeos.EventDelta, Channel: t.Channel, Turn: t.ID, Attempt: t.attempt, Seq: t.seq, Text: string(t.text), SoFar: true,
		Reasoning: string(t.reasoning),
	}
	if len(t.parts) > 0 {
		ev.Parts = json.RawMessage("[" + string(t.parts) + "]")
	}
	return ev
}

// Publish sends a live event after whatever text came before it.
func (t *Turn) Publish(ev beeos.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.flush(t.now())
	t.publish(ev)
}

// flush publishes what has gathered; t.mu is held.
func (t *Turn) flush(now time.Time) {
	if len(t.pending) > 0 {
		text := string(t.pending)
		t.pending = t.pending[:0]
		t.publishText(now, text)
	}
}

func (t *Turn) publishText(now time.Time, text string) {
	t.published = now
	ev := beeos.Event{Kind: beeos.EventDelta}
	if t.thoughts {
		ev.Reasoning = text
	} else {
		ev.Text = text
	}
	t.publish(ev)
}

// publish sends an event to whoever watches; t.mu is held, which keeps events
// in order.
func (t *Turn) publish(ev beeos.Event) {
	t.seq++
	ev.Channel, ev.Turn, ev.Attempt, ev.Seq = t.Channel, t.ID, t.attempt, t.seq
	t.bus.Publish(ev)
}
