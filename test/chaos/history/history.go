// Package history is what a campaign writes down while it runs: what was asked
// of BeeOS, what it promised, what it answered, what agents did, and what was
// broken when. check.go compares that with itself, stored.go with what the
// database says afterwards.
package history

import (
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"time"
)

// Kind is the way in which something was asked.
type Kind string

const (
	Invoke       Kind = "rest"         // a call over REST
	Stream       Kind = "rest stream"  // one that is streamed
	MCP          Kind = "mcp"          // tools/call
	A2A          Kind = "a2a"          // SendStreamingMessage
	Task         Kind = "task"         // made, and looked at later
	Conversation Kind = "conversation" // a message of a conversation, said when the one before is answered
	Overlap      Kind = "overlap"      // one of a conversation in which several are said at once
	Approval     Kind = "approval"     // a call for which somebody has to say yes
)

// What agents say that each answer took.
const (
	TokensRead = 10
	TokensSaid = 1
)

// Outcome is how an operation ended for whoever asked.
type Outcome string

const (
	OK      Outcome = "ok"      // answered
	Told    Outcome = "told"    // told that the work is lost or was rejected: an end that stays
	Refused Outcome = "refused" // told that it was not done now, or that this is not known
	Cut     Outcome = "cut"     // nobody answered, or the connection broke
)

// Op is one thing that was asked. Its text is its name, and like no other's.
type Op struct {
	Text      string
	Kind      Kind
	Node      string        // that was asked
	Key       string        `json:",omitempty"` // idempotency key
	Context   string        `json:",omitempty"` // conversation that the caller named
	Channel   string        `json:",omitempty"` // conversation that it is in
	Sent      time.Duration // since the campaign began, as all times here
	Stored    string        `json:",omitempty"` // id under which it was acknowledged before it was done
	Ended     time.Duration
	Allowed   time.Duration // how long the caller wanted to wait
	Outcome   Outcome
	Answer    string   `json:",omitempty"`
	Error     string   `json:",omitempty"`
	Streamed  []string `json:",omitempty"` // the pieces in which the answer came
	WantsNo   bool     `json:",omitempty"` // the approver says no to it
	Webhook   bool     `json:",omitempty"` // a receiver wants to hear of its end
	Tries     int
	FirstTime time.Duration // how long the first try took: it must not exceed what was allowed
}

// Execution is an agent that began or ended work on a message.
type Execution struct {
	What    string // begin, end, saved
	Agent   string
	Message string
	Attempt int
	Text    string
}

// Fault is something that was broken, and when it was whole again.
type Fault struct {
	Name   string
	Target string
	Began  time.Duration
	Ended  time.Duration
	Mute   bool // meanwhile the target could not answer its callers, however it wanted
}

// History is all that happened. It is safe for concurrent use.
type History struct {
	Start time.Time

	mu     sync.Mutex
	Ops    []*Op
	Faults []Fault
	file   *os.File // the same as lines, to read after a crash of the campaign itself
}

// New begins a history that is also written to a file.
func New(path string) (*History, error) {
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	return &History{Start: time.Now(), file: f}, nil
}

// Now is how long the campaign has been running.
func (h *History) Now() time.Duration { return time.Since(h.Start) }

// Add notes an operation that has ended.
func (h *History) Add(op *Op) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.Ops = append(h.Ops, op)
	h.write(op)
}

// AddFault notes what was broken and is whole again.
func (h *History) AddFault(f Fault) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.Faults = append(h.Faults, f)
	h.write(f)
}

// Note writes a line that only people read.
func (h *History) Note(format string, args ...any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.write(map[string]any{"At": h.Now(), "Note": fmt.Sprintf(format, args...)})
}

func (h *History) write(v any) {
	if line, err := json.Marshal(v); err == nil {
		h.file.Write(append(line, '\n')) //nolint:errcheck // the history in memory is what counts
	}
}

// Close ends the file.
func (h *History) Close() error { return h.file.Close() }

// Answered counts what was answered since a moment.
func (h *History) Answered(since time.Duration) (n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, op := range h.Ops {
		if op.Outcome == OK && op.Ended >= since {
			n++
		}
	}
	return n
}
