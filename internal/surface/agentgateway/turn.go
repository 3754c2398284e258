package agentgateway

import (
	"context"
	"encoding/json"
	"strconv"
	"sync"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/bus"
	"github.com/beeos/beeos/internal/engine/ledger"
)

const (
	gatherFor = 20 * time.Millisecond // deltas that come faster travel together
	gatherMax = 4 << 10               // bytes
	maxText   = 1 << 20               // of a turn's text so far, kept for late joiners
	maxAside  = 64 << 10              // of its reasoning, and of its parts
)

// turn is one message that an agent on this node is working on.
type turn struct {
	id       string
	channel  string
	agent    string
	deadline time.Time
	conn     *connection

	mu        sync.Mutex
	attempt   int
	note      bool // tell the ledger when the agent shows a sign of work
	noting    bool // that is on its way
	finishing bool // its terminal reply is being stored
	lost      bool // its connection is gone
	text      []byte
	truncated bool // text is not the whole text
	reasoning []byte
	parts     []byte // so far, with commas between them
	seq       int64
	pending   []byte // gathered, not published yet
	thoughts  bool   // pending is reasoning
	queued    bool   // in the mailbox of those to publish
	published time.Time
	asks      []string
	asked     int             // questions so far
	gates     map[string]gate // approvals that the agent waits for, by its request
	dropped   bool            // nobody here holds the turn any more
	onDrop    []func()        // what ends with it
}

// whenDropped has f called when the turn is no longer worked on here; false
// when that is so already.
func (t *turn) whenDropped(f func()) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.onDrop = append(t.onDrop, f)
	return !t.dropped
}

// isLost reports whether the turn's connection is gone: another instance may
// have it next.
func (t *turn) isLost() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.lost
}

func newTurn(d *bus.Dispatch, note bool) *turn {
	return &turn{id: d.MessageID, channel: d.Channel, agent: d.AgentID, deadline: d.Deadline, attempt: d.Attempt, note: note}
}

// lease names this attempt in the ledger.
func (t *turn) lease() ledger.Lease {
	t.mu.Lock()
	defer t.mu.Unlock()
	return ledger.Lease{Turn: t.id, Attempt: t.attempt}
}

// begun reports, once, that the ledger wants to know of this sign of work.
func (t *turn) begun() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	tell := t.note
	t.note, t.noting = false, t.noting || tell
	return tell
}

// noted reports whether the ledger has heard of the sign of work, if there was
// one; done says that it has now.
func (t *turn) noted(done bool) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.noting = t.noting && !done
	return !t.noting
}

// adopt takes over a later attempt of a turn that the agent still works on:
// its lease ran out, its work did not.
func (t *turn) adopt(attempt int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.attempt = max(t.attempt, attempt)
}

// delta takes a piece of text or reasoning. The first goes out at once; those
// that follow within gatherFor are gathered.
func (t *turn) delta(g *Gateway, text string, thoughts bool) {
	now := g.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	if thoughts {
		t.reasoning = aside(t.reasoning, text)
	} else {
		t.remember(text)
	}
	if thoughts != t.thoughts {
		t.flush(g.Bus, now)
		t.thoughts = thoughts
	}
	if len(t.pending) == 0 && now.Sub(t.published) >= gatherFor {
		t.say(g.Bus, now, text)
		return
	}
	t.pending = append(t.pending, text...)
	switch {
	case len(t.pending) >= gatherMax:
		t.flush(g.Bus, now)
	case !t.queued:
		t.queued = true
		g.deltas.add(t)
	}
}

// replayed takes text that the agent had streamed on an earlier connection.
// Who watches has most of it or nothing: the number that nobody is sent lets
// everybody ask for the text so far before the next piece.
func (t *turn) replayed(text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.seq++
	t.text = t.text[:0]
	t.remember(text)
}

// remember keeps the text so far, up to a bound; t.mu is held.
func (t *turn) remember(text string) {
	if t.truncated || len(t.text)+len(text) > maxText {
		t.truncated = true
		return
	}
	t.text = append(t.text, text...)
}

// part takes a piece of the answer that is not text.
func (t *turn) part(g *Gateway, raw json.RawMessage) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.parts) > 0 {
		t.parts = aside(t.parts, ","+string(raw))
	} else {
		t.parts = aside(nil, string(raw))
	}
	t.flush(g.Bus, g.Now())
	t.publish(g.Bus, beeos.Event{Kind: beeos.EventDelta, Part: raw})
}

// aside keeps what a late joiner would like to have, and need not.
func aside(kept []byte, more string) []byte {
	if len(kept)+len(more) > maxAside {
		return kept
	}
	return append(kept, more...)
}

// snapshot is the text so far of a turn, as one delta in place of those that
// were published. What has gathered is published first, so that it is among
// them.
func (g *Gateway) snapshot(id string) (ev beeos.Event, ok bool) {
	t := g.desk.turn(id)
	if t == nil {
		return ev, false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.flush(g.Bus, g.Now())
	ev = beeos.Event{
		Kind: beeos.EventDelta, Channel: t.channel, Turn: t.id, Attempt: t.attempt, Seq: t.seq, Text: string(t.text), SoFar: true,
		Reasoning: string(t.reasoning),
	}
	if len(t.parts) > 0 {
		ev.Parts = json.RawMessage("[" + string(t.parts) + "]")
	}
	return ev, true
}

// flush publishes what has gathered; t.mu is held.
func (t *turn) flush(b *bus.Bus, now time.Time) {
	if len(t.pending) > 0 {
		text := string(t.pending)
		t.pending = t.pending[:0]
		t.say(b, now, text)
	}
}

func (t *turn) say(b *bus.Bus, now time.Time, text string) {
	t.published = now
	ev := beeos.Event{Kind: beeos.EventDelta}
	if t.thoughts {
		ev.Reasoning = text
	} else {
		ev.Text = text
	}
	t.publish(b, ev)
}

// askKey names a question to the caller: as the agent does, or by counting.
func (t *turn) askKey(given string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.asked++
	switch {
	case given != "":
		return given
	case t.attempt <= 1:
		return "input_" + strconv.Itoa(t.asked)
	}
	return "input_" + strconv.Itoa(t.attempt) + "_" + strconv.Itoa(t.asked)
}

// tell publishes a live event after whatever text came before it.
func (t *turn) tell(g *Gateway, ev beeos.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.flush(g.Bus, g.Now())
	t.publish(g.Bus, ev)
}

// publish sends an event to whoever watches; t.mu is held, which keeps events
// in order.
func (t *turn) publish(b *bus.Bus, ev beeos.Event) {
	t.seq++
	ev.Channel, ev.Turn, ev.Attempt, ev.Seq = t.channel, t.id, t.attempt, t.seq
	b.Publish(ev)
}

// finish says the last words and marks the turn as being stored. It returns
// the whole text that was streamed, if that is known.
func (t *turn) finish(g *Gateway) (text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.flush(g.Bus, g.Now())
	t.finishing = true
	if !t.truncated {
		text = string(t.text)
	}
	return text
}

// unfinish takes finish back: the reply could not be stored now. It reports
// whether the turn's connection went away meanwhile.
func (t *turn) unfinish() (lost bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.finishing = false
	return t.lost
}

// abandon notes that the connection is gone. It reports whether the turn
// should be given back now.
func (t *turn) abandon() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lost = true
	return !t.finishing
}

// ending reports whether a terminal reply of ours is on its way to the disk.
func (t *turn) ending() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.finishing
}

// publishDeltas publishes what has gathered, gatherFor after it began to.
func (g *Gateway) publishDeltas(ctx context.Context) error {
	pause := time.NewTimer(gatherFor)
	defer pause.Stop()
	for {
		select {
		case <-g.deltas.ready():
		case <-ctx.Done():
			return nil
		}
		pause.Reset(gatherFor)
		select {
		case <-pause.C:
		case <-ctx.Done():
			return nil
		}
		now := g.Now()
		for _, t := range g.deltas.take() {
			t.mu.Lock()
			t.queued = false
			t.flush(g.Bus, now)
			t.mu.Unlock()
		}
	}
}
