// Package transcript puts a conversation together as people read it: turns with
// the message, the answer and its tool calls (turn.go, parts.go), and what the
// agent asks (question.go). Stored messages come from the ledger and live events
// from the bus; what a person has to approve is added from outside.
package transcript

import (
	"slices"
	"sync"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store/approvals"
	"github.com/beeos/beeos/internal/surface/web/page"
)

// Transcript is a conversation so far: what was said, as the ledger has it, and
// what is being said, as the bus tells it. One goroutine may add to it while
// another shows it.
type Transcript struct {
	Path       string        // where the conversation is, for forms
	HasEarlier bool          // there are earlier messages
	TooLong    bool          // and they are too long to be shown
	Changed    chan struct{} // gets a value when there may be something new

	agent *beeos.Agent

	mu     sync.Mutex
	offset int64 // of the newest message
	turns  []*Turn
	byID   map[string]*Turn
}

// New returns an empty transcript of a conversation at that path.
func New(agent *beeos.Agent, path string) *Transcript {
	return &Transcript{Path: path, Changed: make(chan struct{}, 1), agent: agent, byID: map[string]*Turn{}}
}

// AddEvent adds what the bus tells: a message, or something an agent shows
// before its answer is complete.
func (t *Transcript) AddEvent(ev *beeos.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if ev.Message != nil {
		t.addMessage(ev.Message)
	} else if u := t.byID[ev.Turn]; u != nil && u.Open {
		u.addEvent(ev)
	}
	select {
	case t.Changed <- struct{}{}:
	default: // the reader will look anyway
	}
}

// AddMessage adds a message of the ledger.
func (t *Transcript) AddMessage(m *beeos.Message) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.addMessage(m)
}

func (t *Transcript) addMessage(m *beeos.Message) {
	t.offset = max(t.offset, m.Offset)
	if m.Type == beeos.ChatMessage {
		if t.byID[m.ID] == nil {
			u := newTurn(m, t.agent, t.Path)
			t.turns, t.byID[m.ID] = append(t.turns, u), u
		}
		return
	}
	u := t.byID[m.InReplyTo]
	if u == nil {
		return // belongs to a turn that is not shown
	}
	switch m.Type {
	case beeos.ChatCancel:
		u.Stopping = true
	case beeos.AgentReasoning:
		u.Reasoning += m.Body
	case beeos.AgentInputRequired, beeos.AgentAuthRequired:
		u.addPause(m)
	case beeos.Continue, beeos.AuthGrant:
		u.answerPause(m)
	default:
		if m.Type.Terminal() {
			u.finish(m)
		}
	}
}

// LastOffset is the offset of the newest message.
func (t *Transcript) LastOffset() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.offset
}

// EachTurn calls f with every turn, in order, while nothing is added.
func (t *Transcript) EachTurn(f func(*Turn) error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, u := range t.turns {
		if err := f(u); err != nil {
			return err
		}
	}
	return nil
}

// Unsettled lists the turns about which there may be more to find out, and those
// of them that the agent works on; with all, turns that are over count, too.
func (t *Transcript) Unsettled(all bool) (ids, open []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, u := range t.turns {
		if u.Open {
			open = append(open, u.ID)
		}
		if all || !u.settled {
			ids = append(ids, u.ID)
		}
	}
	return ids, open
}

// Findings is what neither the ledger nor the bus tells about turns.
type Findings struct {
	Online    bool                     // the agent is connected
	Forms     map[string][]beeos.Event // by turn: the forms that are open, where that is known
	Approvals []approvals.Approval     // of all turns
	Cards     []page.ApprovalCard      // of Approvals, in the same order
}

// AddFindings updates the turns with what was found out about them.
func (t *Transcript) AddFindings(ids []string, found Findings) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, id := range ids {
		u := t.byID[id]
		u.Waiting = u.Open && !found.Online && u.Text == ""
		if forms, ok := found.Forms[id]; ok {
			u.setOpenForms(forms)
		}
		u.setApprovals(found.Approvals, found.Cards)
	}
}

// IsBusy reports whether the agent works on something.
func (t *Transcript) IsBusy() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.ContainsFunc(t.turns, func(u *Turn) bool { return u.Open })
}

// OpenQuestion returns the question with that id; nil if it is not open.
func (t *Transcript) OpenQuestion(id string) *Question {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, u := range t.turns {
		for _, q := range u.Questions {
			if q.ID == id && q.Open && u.Open {
				return q
			}
		}
	}
	return nil
}
