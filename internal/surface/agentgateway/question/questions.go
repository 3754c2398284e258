// Package question is what an agent asks while it works on a turn, and how it
// gets its answers. It may ask its caller (questions.go), pause for the person
// behind the caller (pause.go), ask another agent (call_agent.go), or ask for the
// approval of a tool call (approve.go). answers.go brings what callers say back
// to the agent.
package question

import (
	"bytes"
	"log/slog"
	"slices"
	"strings"
	"sync"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/access/approval"
	"github.com/beeos/beeos/internal/engine/bus"
	"github.com/beeos/beeos/internal/engine/invoke"
	"github.com/beeos/beeos/internal/engine/ledger"
	"github.com/beeos/beeos/internal/store"
	"github.com/beeos/beeos/internal/surface/agentgateway/turn"
)

// maxOpen is how many questions of one turn may wait for an answer at a time.
const maxOpen = 128

// Options are the parts that questions stand on.
type Options struct {
	DB        *store.DB
	Ledger    *ledger.Ledger
	Bus       *bus.Bus
	Calls     *invoke.Calls
	Approvals *approval.Approvals // nil = nobody can be asked
	Log       *slog.Logger
	Go        func(func()) // starts a goroutine that the node waits for
}

// Questions is what the agents on this node have asked and not been answered
// yet. The bus looks things up here, so nothing may call the bus with the lock
// held.
type Questions struct {
	Options

	mu      sync.RWMutex
	open    map[string]question
	byTurn  map[*turn.Turn][]string          // ids, oldest first
	pending map[*turn.Turn]*approval.Pending // tool calls that wait for a decision
}

// New returns questions of which none is open.
func New(opt Options) *Questions {
	return &Questions{
		Options: opt, open: map[string]question{}, byTurn: map[*turn.Turn][]string{}, pending: map[*turn.Turn]*approval.Pending{},
	}
}

// Send queues a frame for the agent that asked.
type Send func(frame []byte)

// question waits for an answer of the caller's.
type question struct {
	send    Send
	request string            // the agent's own id of it
	pause   beeos.MessageType // of a turn that paused for it; empty = it just waits
	offer   *approval.Offer   // nil = the answer does not decide about an approval
	event   beeos.Event       // as the caller gets to see it
}

// Ask passes an agent's question on to whoever watches the turn, or has another
// agent answer it.
func (q *Questions) Ask(t *turn.Turn, f *beeos.Frame, send Send) error {
	if f.RequestID == "" || f.Method == "" {
		return beeos.Errorf(beeos.MissingParam, "a request needs request_id and method")
	}
	if strings.HasPrefix(f.Key, approval.KeyPrefix) { // its answer could be taken for a decision
		return beeos.Errorf(beeos.InvalidParam, "a key may not begin with %q", approval.KeyPrefix)
	}
	if f.Method == beeos.MethodCallAgent {
		q.callAgent(t, f, send)
		return nil
	}
	return q.ask(t, question{send: send, request: f.RequestID}, beeos.Event{
		AskID: "ask_" + beeos.NewID(), Key: f.Key, Total: f.Total, Method: f.Method, Data: bytes.Clone(f.Params),
	})
}

// ask opens a question and tells whoever watches the turn.
func (q *Questions) ask(t *turn.Turn, asked question, ev beeos.Event) error {
	ev.Kind, ev.Channel, ev.Turn, ev.Key = beeos.EventAsk, t.Channel, t.ID, t.QuestionKey(ev.Key)
	asked.event = ev
	if !q.add(t, ev.AskID, asked) {
		return beeos.Errorf(beeos.RateLimited, "%d questions of this message wait for an answer; ask more when there is one", maxOpen)
	}
	t.Publish(ev)
	q.Bus.Control(bus.Control{Kind: bus.TurnChanged, ID: t.ID})
	return nil
}

// add keeps a question until it is taken or its turn is dropped; false = the
// turn has too many already.
func (q *Questions) add(t *turn.Turn, id string, asked question) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	ids, known := q.byTurn[t]
	ids = slices.DeleteFunc(ids, func(old string) bool {
		_, open := q.open[old]
		return old == id || !open
	})
	if len(ids) >= maxOpen {
		return false
	}
	if !known && !t.OnDrop(func() { q.forgetTurn(t) }) {
		return true // it has ended meanwhile
	}
	q.byTurn[t], q.open[id] = append(ids, id), asked
	return true
}

// forgetTurn forgets the questions of a turn that is over.
func (q *Questions) forgetTurn(t *turn.Turn) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, id := range q.byTurn[t] {
		delete(q.open, id)
	}
	delete(q.byTurn, t)
}

// list returns the open questions of a turn, oldest first.
func (q *Questions) list(t *turn.Turn) (list []question) {
	q.mu.RLock()
	defer q.mu.RUnlock()
	for _, id := range q.byTurn[t] {
		if asked, ok := q.open[id]; ok {
			list = append(list, asked)
		}
	}
	return list
}

// List returns the questions of a turn that wait for an answer, oldest first,
// as the caller gets to see them.
func (q *Questions) List(t *turn.Turn) []beeos.Event {
	events := []beeos.Event{}
	for _, asked := range q.list(t) {
		events = append(events, asked.event)
	}
	return events
}

// Count is how many questions are open on this node.
func (q *Questions) Count() int {
	q.mu.RLock()
	defer q.mu.RUnlock()
	return len(q.open)
}

// take returns a question and closes it.
func (q *Questions) take(id string) (question, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	asked, ok := q.open[id]
	delete(q.open, id)
	return asked, ok
}
