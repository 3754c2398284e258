package web

import (
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store"
)

// talk is a conversation in the making: what was said, as the ledger has it,
// and what is being said, as the bus tells it. One goroutine adds to it while
// another shows it.
type talk struct {
	agent string // what people call the agent
	base  string // where the conversation is, for forms
	last  int64  // offset of the newest message in it
	cut   bool   // there are earlier ones
	full  bool   // and they are too long to be shown
	news  chan struct{}

	mu    sync.Mutex
	turns []*turn
	byID  map[string]*turn
}

// turn is what a person said, and what the agent made of it.
type turn struct {
	ID, Agent, Base string
	At              time.Time
	Said            string
	Sent            []chatFile

	Open     bool // the agent works on it
	Stopping bool
	Waiting  bool // nobody is there to work on it
	Text     string
	Thoughts string
	Steps    []*toolStep
	Files    []chatFile
	Extras   []extra
	Progress string
	Percent  int // 0 = unknown
	Asked    []*question
	Gates    []approvalRow // tool calls that the visitor was asked about and that no step stands for

	Stopped bool
	Problem string // how it went wrong
	Advice  string // what to do about that
	Again   string // the key to send it once more with

	attempt int
	heard   int    // bytes of what was let see, about
	blocks  string // of text that stand beside the answer's own
	settled bool   // all is known about it
	shown   bool   // and nothing of it will look different
}

// chatFile is a file that goes along with words.
type chatFile struct{ Name, Kind, URL string }

// extra is something else in an answer, as JSON.
type extra struct {
	Name string
	Text []piece
}

// What is kept of an answer in the making: an agent may talk for an hour. The
// whole comes with its end.
const (
	maxLive   = 1 << 20 // bytes
	livePiece = 1 << 10 // that each piece counts for, beside its own
)

func newTalk(agent, base string) *talk {
	return &talk{agent: agent, base: base, byID: map[string]*turn{}, news: make(chan struct{}, 1)}
}

// poke wakes who shows the talk.
func (t *talk) poke() {
	select {
	case t.news <- struct{}{}:
	default: // it will look anyway
	}
}

// take adds an event.
func (t *talk) take(ev *beeos.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if ev.Message != nil {
		t.add(ev.Message)
	} else if u := t.byID[ev.Turn]; u != nil && u.Open {
		u.live(ev)
	}
	t.poke()
}

// add adds a message of the ledger's; t.mu is held or nobody else knows t.
func (t *talk) add(m *beeos.Message) {
	t.last = max(t.last, m.Offset)
	if m.Type == beeos.ChatMessage {
		if t.byID[m.ID] == nil {
			u := &turn{ID: m.ID, Agent: t.agent, Base: t.base, At: m.CreatedAt, Said: m.Body, Open: true}
			if m.Body == "" {
				u.Said = called(m.Payload)
			}
			for _, p := range partsOf(m.Parts) {
				if p.Type == "file" {
					u.Sent = append(u.Sent, p.file(false))
				}
			}
			t.turns, t.byID[m.ID] = append(t.turns, u), u
		}
		return
	}
	u := t.byID[m.InReplyTo]
	if u == nil {
		return // of a turn that is not shown
	}
	switch m.Type {
	case beeos.ChatCancel:
		u.Stopping = true
	case beeos.AgentReasoning:
		u.Thoughts += m.Body
	case beeos.AgentInputRequired, beeos.AgentAuthRequired:
		u.pause(m)
	case beeos.Continue, beeos.AuthGrant:
		u.resume(m)
	default:
		if m.Type.Terminal() {
			u.end(m)
		}
	}
}

// called is what a message without words asks for.
func called(payload json.RawMessage) string {
	var call beeos.Call
	if json.Unmarshal(payload, &call) != nil || call.Tool == "" {
		return ""
	}
	return call.Tool + " " + string(call.Arguments)
}

// live adds what the agent lets see before its answer is whole.
func (u *turn) live(ev *beeos.Event) {
	if ev.Attempt < u.attempt && ev.Attempt > 0 {
		return
	}
	if ev.Kind == beeos.EventDelta && (ev.SoFar || ev.Attempt > u.attempt) { // it begins anew, or all of it comes at once
		u.Text, u.Thoughts, u.Steps, u.Files, u.Extras, u.blocks = "", "", nil, nil, nil, ""
		u.attempt, u.heard = ev.Attempt, 0
	}
	if u.heard += u.weight(ev); u.heard > maxLive && !ev.SoFar {
		return
	}
	switch ev.Kind {
	case beeos.EventDelta:
		u.Text += ev.Text
		u.Thoughts += ev.Reasoning
		u.Waiting = false
		for _, p := range partsOf(ev.Parts) {
			u.part(&p)
		}
		if ev.Part != nil {
			for _, p := range partsOf(json.RawMessage("[" + string(ev.Part) + "]")) {
				u.part(&p)
			}
		}
	case beeos.EventProgress:
		u.Progress, u.Percent = clean(ev.Text, 200), 0
		if ev.Total > 0 && ev.Progress >= 0 {
			u.Percent = int(min(ev.Progress/ev.Total, 1) * 100)
		}
	case beeos.EventAsk:
		u.ask(ev)
	}
}

// weight is what an event adds to the turn. Words come in many small pieces,
// which become one text.
func (u *turn) weight(ev *beeos.Event) int {
	n := len(ev.Text) + len(ev.Reasoning) + len(ev.Parts) + len(ev.Part) + len(ev.Data)
	switch {
	case ev.Kind == beeos.EventProgress:
		return 0
	case ev.Part != nil || ev.Kind == beeos.EventAsk:
		return n + livePiece
	}
	return n
}

// end takes the reply that ends the turn.
func (u *turn) end(m *beeos.Message) {
	u.Open, u.Stopping, u.Waiting, u.Progress, u.Percent = false, false, false, "", 0
	for _, q := range u.Asked {
		q.Open = false
	}
	before, thoughts := u.Steps, u.Thoughts
	u.Steps, u.Files, u.Extras, u.Thoughts, u.blocks = nil, nil, nil, "", ""
	if m.Type != beeos.AgentReply && len(m.Parts) == 0 {
		u.Steps = before // a failure need not say what was done before it
	}
	for _, p := range partsOf(m.Parts) {
		u.part(&p)
	}
	if u.Thoughts == "" {
		u.Thoughts = thoughts // which need not be part of the answer
	}
	for i := range min(len(before), len(u.Steps)) {
		if u.Steps[i].ID == before[i].ID {
			u.Steps[i].Gate = before[i].Gate
		}
	}
	if m.Type == beeos.AgentReply {
		u.Text = m.Body
		if u.blocks != "" && u.blocks != m.Body {
			u.Text += "\n\n" + u.blocks
		}
		u.Stopped = m.StopReason == beeos.StopUser
		return
	}
	var about struct {
		Partial string `json:"partial"`
	}
	_ = json.Unmarshal(m.Payload, &about) // an error has a payload or it has none
	u.Text = about.Partial
	if m.State == beeos.StateCancelled {
		u.Stopped = true
		return
	}
	u.Problem, u.Advice = trouble(m, u.Agent)
	u.Again = "again-" + u.ID
}

// trouble says what went wrong, and what to do about it.
func trouble(m *beeos.Message, agent string) (problem, advice string) {
	said := strings.TrimSpace(spoken(m.Body))
	switch {
	case m.Type == beeos.AgentRefuse:
		problem, advice = agent+" declined", "Ask in another way, or ask its owner what it may do."
	case m.Type == beeos.AgentBusy:
		problem, advice = agent+" is busy", "It takes one thing at a time. Try again in a moment."
	case m.StopReason == beeos.StopTimeout:
		problem, advice = "No answer came in time", "Try again; if that happens often, look at what the agent's own log says."
	case m.StopReason == beeos.StopAgentLost:
		problem, advice = agent+" went away while it worked on this", "See to it that its process runs, and try again. What it did before it went is not undone."
	default:
		problem, advice = agent+" failed", "Try again; the agent's own log may say more."
	}
	if said != "" {
		problem += ": " + said
	}
	return sentence(problem), advice
}

// gate puts what was asked about the turn's tool calls to the steps that it was
// asked for. rows are of all turns, and so are views of them.
func (u *turn) gate(rows []store.Approval, views []approvalRow) {
	u.settled, u.Gates = !u.Open, nil
	for _, s := range u.Steps {
		s.Gate = nil
	}
	for i := range rows {
		if rows[i].Turn != u.ID {
			continue
		}
		view := views[i]
		view.Back = u.Base
		at := slices.IndexFunc(u.Steps, func(s *toolStep) bool { return s.Gate == nil && s.is(&rows[i]) })
		if at < 0 {
			u.Gates = append(u.Gates, view)
		} else {
			u.Steps[at].Gate = &view
		}
	}
}

// Held reports whether the agent waits for the visitor.
func (u *turn) Held() bool {
	return slices.ContainsFunc(u.Gates, func(a approvalRow) bool { return a.Open }) ||
		slices.ContainsFunc(u.Steps, func(s *toolStep) bool { return s.Gate != nil && s.Gate.Open }) ||
		slices.ContainsFunc(u.Asked, func(q *question) bool { return q.Open })
}

// unsettled lists the turns about which there may be more to find out, and
// those of them that the agent works on.
func (t *talk) unsettled(all bool) (ids, open []string) {
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

// busy reports whether the agent works on something.
func (t *talk) busy() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.ContainsFunc(t.turns, func(u *turn) bool { return u.Open })
}
