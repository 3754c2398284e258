// Package turn is one request in the hands of an agent on this node: who has it
// and how far it has come (turn.go), and what its agent says before the reply,
// which goes out live and is kept for whoever joins late (stream.go).
package turn

import (
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/beeos/beeos/internal/engine/bus"
	"github.com/beeos/beeos/internal/engine/ledger"
	"github.com/beeos/beeos/internal/store/database"
)

// Turn is one message that an agent on this node is working on.
type Turn struct {
	ID       string
	Channel  string
	Agent    string
	Deadline time.Time // zero = none
	Trace    string    // where it stands in a distributed trace

	bus *bus.Bus
	now func() time.Time

	given  time.Time    // to its agent
	signed atomic.Int64 // when the agent showed the first sign of work, in microseconds; 0 = it has not

	mu        sync.Mutex
	attempt   int
	worded    time.Time // when it said the first words
	finishing bool      // its terminal reply is being stored
	lost      bool      // its connection is gone
	dropped   bool      // nobody here holds the turn any more
	onDrop    []func()
	questions int // that the agent has asked so far

	text      []byte // so far
	truncated bool   // text is not the whole text
	reasoning []byte // so far
	parts     []byte // so far, with commas between them
	seq       int64  // of the last event
	pending   []byte // gathered, not published yet
	thoughts  bool   // pending is reasoning
	queued    bool   // pending will be published soon
	published time.Time
}

// New returns the turn of a dispatch, which publishes what its agent says on b.
func New(b *bus.Bus, now func() time.Time, d *bus.Dispatch) Turn {
	return Turn{
		ID: d.MessageID, Channel: d.Channel, Agent: d.AgentID, Deadline: d.Deadline, Trace: d.Trace,
		bus: b, now: now, attempt: d.Attempt, given: now(),
	}
}

// Drop ends what depends on the turn being worked on here.
func (t *Turn) Drop() {
	t.mu.Lock()
	ended := t.onDrop
	t.onDrop, t.dropped = nil, true
	t.mu.Unlock()
	for _, f := range ended {
		f()
	}
}

// OnDrop has f called when the turn is dropped. It reports false, and f is not
// called, when that has happened already.
func (t *Turn) OnDrop(f func()) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.dropped {
		t.onDrop = append(t.onDrop, f)
	}
	return !t.dropped
}

// Lease names this attempt in the ledger.
func (t *Turn) Lease() ledger.Lease {
	t.mu.Lock()
	defer t.mu.Unlock()
	return ledger.Lease{Turn: t.ID, Attempt: t.attempt}
}

// NoteSign notes that the agent has shown a sign of work.
func (t *Turn) NoteSign() {
	if t.signed.Load() == 0 {
		t.signed.Store(t.now().UnixMicro())
	}
}

// Attempt is how far this attempt came, and when.
func (t *Turn) Attempt() ledger.Attempt {
	t.mu.Lock()
	defer t.mu.Unlock()
	return ledger.Attempt{Number: t.attempt, Given: t.given, Started: database.Moment(t.signed.Load()), FirstText: t.worded}
}

// Adopt takes over a later attempt of a turn that the agent still works on: its
// lease ran out, its work did not.
func (t *Turn) Adopt(attempt int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.attempt = max(t.attempt, attempt)
}

// Finish publishes the last of the text and marks the turn as being stored. It
// returns the whole text that was streamed, if that is known.
func (t *Turn) Finish() (text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.flush(t.now())
	t.finishing = true
	if !t.truncated {
		text = string(t.text)
	}
	return text
}

// Unfinish takes Finish back: the reply could not be stored now. It reports
// whether the turn's connection went away meanwhile.
func (t *Turn) Unfinish() (lost bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.finishing = false
	return t.lost
}

// IsFinishing reports whether a terminal reply is on its way to the disk.
func (t *Turn) IsFinishing() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.finishing
}

// Abandon notes that the connection is gone. It reports whether the turn should
// be given back now.
func (t *Turn) Abandon() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lost = true
	return !t.finishing
}

// IsLost reports whether the turn's connection is gone: another instance may
// have it next.
func (t *Turn) IsLost() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.lost
}

// QuestionKey names a question to the caller: as the agent does, or by counting.
func (t *Turn) QuestionKey(given string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.questions++
	switch {
	case given != "":
		return given
	case t.attempt <= 1:
		return "input_" + strconv.Itoa(t.questions)
	}
	return "input_" + strconv.Itoa(t.attempt) + "_" + strconv.Itoa(t.questions)
}
