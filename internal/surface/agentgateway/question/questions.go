// Package question is what an agent asks while it works on a turn, and how it
// gets its answers. It may ask its caller (questions.go), pause for the person
// behind the caller (pause.go), ask another agent (call_agent.go), or ask for the
// approval of a tool call (approve.go). answers.go brings what callers say back
// to the agent.
package question

import (
	"bytes"
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/access/approval"
	"github.com/beeos/beeos/internal/engine/bus"
	"github.com/beeos/beeos/internal/engine/invoke"
	"github.com/beeos/beeos/internal/engine/ledger"
	"github.com/beeos/beeos/internal/store/agents"
	"github.com/beeos/beeos/internal/surface/agentgateway/turn"
)

const (
	maxOpen   = 128  // questions of one turn that may wait for an answer at a time
	maxPauses = 1000 // of one turn; each is stored
)

// Options are the parts that questions stand on.
type Options struct {
	Agents    *agents.Table
	Ledger    *ledger.Ledger
	Bus       *bus.Bus
	Calls     *invoke.Calls
	Approvals *approval.Approvals // nil = nobody can be asked
	Log       *slog.Logger
}

// Questions is what the agents on this node have asked and not been answered
// yet. The bus looks things up here, so nothing may call the bus with the lock
// held.
type Questions struct {
	Options
	start func(func()) // a goroutine that the node waits for

	mu    sync.RWMutex
	open  map[string]question
	turns map[*turn.Turn]*asker
}

// asker is a turn whose agent has asked something.
type asker struct {
	ids     []string          // of its questions, oldest first
	pending *approval.Pending // its tool calls that wait for a decision; nil = none so far
	calls   int               // of other agents, under way
	pauses  int               // so far
	life    context.Context   // of the turn on this node
	end     context.CancelFunc
}

// New returns questions of which none is open.
func New(opt Options, start func(func())) *Questions {
	return &Questions{Options: opt, start: start, open: map[string]question{}, turns: map[*turn.Turn]*asker{}}
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
		return q.callAgent(t, f, send)
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
	a := q.askerOf(t)
	if a == nil {
		return true // it has ended meanwhile
	}
	a.ids = slices.DeleteFunc(a.ids, func(old string) bool {
		_, open := q.open[old]
		return old == id || !open
	})
	if len(a.ids) >= maxOpen {
		return false
	}
	a.ids = append(a.ids, id)
	q.open[id] = asked
	return true
}

// askerOf returns what is known of a turn that asks, or nil when the turn is
// over; q.mu is held.
func (q *Questions) askerOf(t *turn.Turn) *asker {
	a := q.turns[t]
	if a == nil && t.OnDrop(func() { q.forgetTurn(t) }) {
		a = &asker{}
		a.life, a.end = context.WithCancel(context.Background())
		q.turns[t] = a
	}
	return a
}

// forgetTurn forgets the questions of a turn that is over.
func (q *Questions) forgetTurn(t *turn.Turn) {
	q.mu.Lock()
	defer q.mu.Unlock()
	a := q.turns[t]
	for _, id := range a.ids {
		delete(q.open, id)
	}
	if a.pending != nil {
		a.pending.Close()
	}
	a.end()
	delete(q.turns, t)
}

// list returns the open questions of a turn, oldest first.
func (q *Questions) list(t *turn.Turn) (list []question) {
	q.mu.RLock()
	defer q.mu.RUnlock()
	if a := q.turns[t]; a != nil {
		for _, id := range a.ids {
			if asked, ok := q.open[id]; ok {
				list = append(list, asked)
			}
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

// take returns a question and closes it.
func (q *Questions) take(id string) (question, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	asked, ok := q.open[id]
	delete(q.open, id)
	return asked, ok
}
