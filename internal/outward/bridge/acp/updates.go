package acp

import (
	"encoding/json"
	"strconv"
	"unicode"
	"unicode/utf8"

	"github.com/beeos/beeos/agent"
	"github.com/beeos/beeos/internal/outward/bridge/upstream"
)

// notice hears what the program tells. What belongs to no message that is being
// worked on is for nobody.
func (p *process) notice(method string, params json.RawMessage) {
	var n struct {
		Session string          `json:"sessionId"`
		Update  json.RawMessage `json:"update"`
	}
	var u update
	if method != "session/update" || json.Unmarshal(params, &n) != nil || json.Unmarshal(n.Update, &u) != nil {
		return // nothing that we know
	}
	s, t := p.findTurn(n.Session)
	if s == nil {
		return
	}
	s.learn(&u, t)
	if t != nil {
		t.tell(&u)
	}
}

// findTurn returns a session and the message that is being worked on in it; nil =
// there is none.
func (p *process) findTurn(id string) (*session, *turn) {
	p.mu.Lock()
	s := p.byID[id]
	p.mu.Unlock()
	if s == nil {
		return nil, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s, s.turn
}

// learn notes which model answers, and what it has cost so far.
func (s *session) learn(u *update, t *turn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if name := upstream.Shorten(u.Meta.Model); name != "" {
		s.model = name
	} else if name := modelOf(u.Options); name != "" {
		s.model = name
	}
	if u.Kind != "usage_update" || u.Cost == nil || u.Cost.Currency != "USD" {
		return
	}
	if t != nil && !s.resumed && u.Cost.Amount > s.cost {
		t.mu.Lock()
		t.cost += u.Cost.Amount - s.cost
		t.mu.Unlock()
	}
	s.cost, s.resumed = u.Cost.Amount, false
}

// tell passes on an update. Kinds that are not known are left alone.
func (t *turn) tell(u *update) {
	switch u.Kind {
	case "agent_message_chunk":
		t.say(u)
	case "agent_thought_chunk":
		var c content
		if json.Unmarshal(u.Content, &c) == nil && c.Text != "" {
			_ = t.r.Reasoning(c.Text) // who gave up is told by the context
		}
	case "tool_call", "tool_call_update":
		t.updateTool(u)
	case "plan":
		t.updatePlan(u.Entries)
	}
}

// words are what was said so far, as far as it matters for what comes next.
type words struct {
	any     bool
	space   bool   // it ended with white space
	message string // the program's name for the last piece's message
	apart   bool   // something was done since
}

// say passes on a piece of the answer.
func (t *turn) say(u *update) {
	var c content
	if json.Unmarshal(u.Content, &c) != nil {
		return
	}
	t.mu.Lock()
	begin := t.words.join(u.Message, c.Text)
	t.words.any = t.words.any || c.Type != ""
	t.mu.Unlock()
	switch {
	case c.Type == "text" && c.Text != "":
		_ = t.r.Delta(begin + c.Text) // who gave up is told by the context
	case c.Type == "image":
		t.r.Image(c.MIMEType, c.Data)
	case c.Type == "audio":
		t.r.Audio(c.MIMEType, c.Data)
	case c.Type == "resource_link":
		t.r.ResourceLink(c.URI, c.Name, c.MIMEType)
	case c.Type == "resource" && c.Resource != nil && c.Resource.Text != nil:
		t.r.Resource(c.Resource.URI, c.Resource.MIMEType, *c.Resource.Text)
	case c.Type == "resource" && c.Resource != nil:
		t.r.ResourceBlob(c.Resource.URI, c.Resource.MIMEType, c.Resource.Blob)
	}
}

// join returns what stands between the text so far and its next piece: messages of
// one turn are paragraphs, which programs leave to whoever shows them.
func (w *words) join(message, next string) (between string) {
	if next == "" {
		return ""
	}
	first, _ := utf8.DecodeRuneInString(next)
	last, _ := utf8.DecodeLastRuneInString(next)
	if w.any && (w.apart || message != w.message) && !w.space && !unicode.IsSpace(first) {
		between = "\n\n"
	}
	w.space, w.message, w.apart = unicode.IsSpace(last), message, false
	return between
}

// plan is what the program has set out to do: a step, with those of its entries
// that were begun as parts.
type plan struct {
	step    *agent.Step
	entries map[string]*agent.Step
}

const maxEntries = 100

// updatePlan takes in the whole plan as it is now.
func (t *turn) updatePlan(entries []planEntry) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.plan.step == nil {
		t.plan = plan{t.r.Step("plan", agent.StepOther), map[string]*agent.Step{}}
	}
	done, current := 0, ""
	for _, e := range entries[:min(len(entries), maxEntries)] {
		text := upstream.Shorten(e.Content)
		if t.plan.entries[text] == nil && e.Status != "pending" && len(t.plan.entries) < maxEntries {
			t.plan.entries[text] = t.plan.step.Step(text, agent.StepOther)
		}
		switch e.Status {
		case "completed":
			t.plan.entries[text].End(nil)
			done++
		case "in_progress":
			current = text
		}
	}
	t.plan.step.Set("entries", strconv.Itoa(len(entries))).Set("completed", strconv.Itoa(done))
	_ = t.r.Progress(float64(done), float64(len(entries)), current) // who gave up is told by the context
}
