// Package answer is how a built-in agent answers one message: a loop between
// the model and its tools (answer.go, tools.go) over the conversation so far
// (history.go), within limits (limits.go). What it has done is kept for whoever
// has to go on with it after a crash (journal.go).
package answer

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/beeos/beeos/agent"
	"github.com/beeos/beeos/internal/outward/llm"
	"github.com/beeos/beeos/internal/outward/skill"
	"github.com/beeos/beeos/internal/store/builtins"
)

const noModel = "This agent has no model to think with: set LLM_MODEL and LLM_API_KEY (or LLM_URL) on the server, and restart it."

// Skill is a skill server with the client that reaches it.
type Skill struct {
	skill.Server
	*skill.Client
}

// Approval is a tool call that is about to be made.
type Approval struct {
	Key         string // names the call in its answer, also after a crash
	Skill, Tool string
	Arguments   json.RawMessage
	Auto        bool // the skill's owner said that it need not be asked about
}

// Agent is a built-in agent as far as its answers go.
type Agent struct {
	ID     string // of its row
	Prompt string
	Model  string   // empty = the one that is configured
	Models []string // that callers may choose for a conversation
	Limits Limits
	Skills []Skill

	LLM     llm.Model     // nil = none is configured, and every answer says so
	Reading chan struct{} // taken by who reads a conversation, whichever agent's; MaxReading at once
	Steps   *builtins.Table

	// Approve asks the owner about a tool call; nil means that only skills that
	// need no approval can be used.
	Approve func(ctx context.Context, r *agent.Reply, a Approval) error

	Log *slog.Logger
	Now func() time.Time
}

// Answer is the handler of a built-in agent: it asks the model, calls the
// tools that the model wants, tells it what they said, and so on, until the
// model has nothing more to ask for.
func (a *Agent) Answer(ctx context.Context, m agent.Message, r *agent.Reply) error {
	if a.LLM == nil {
		return r.Fail(noModel)
	}
	model := cmp.Or(m.Model, a.Model)
	if model != a.Model && !slices.Contains(a.Models, model) {
		return r.Fail(fmt.Sprintf("The model %q that was chosen for this conversation is not one that this agent may use; choose one of %q.", model, a.Models))
	}
	limits := a.Limits
	ctx, cancel := context.WithTimeoutCause(ctx, limits.Wall, errWall)
	defer cancel()
	t := &turn{a: a, r: r, model: model}
	talk, first, err := a.history(ctx, m, r)
	if errors.Is(context.Cause(ctx), errWall) {
		return t.end(overTime(limits))
	}
	if err != nil {
		return err
	}
	t.talk, t.tools = talk, a.discoverTools(ctx, first)
	if t.journal, err = a.openJournal(ctx, m.ID); err != nil {
		return err
	}
	for {
		if why := t.used.over(limits); why != "" {
			return t.end(why)
		}
		calls, err := t.think(ctx)
		if errors.Is(context.Cause(ctx), errWall) {
			return t.end(overTime(limits))
		}
		if err != nil {
			return err
		}
		if len(calls) == 0 {
			return t.end(t.cut)
		}
		if why := t.used.overCalls(limits, len(calls)); why != "" {
			return t.end(why)
		}
		results := t.act(ctx, calls)
		if errors.Is(context.Cause(ctx), errWall) {
			return t.end(overTime(limits))
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		t.talk = append(t.talk, results...)
	}
}

// turn is one answer in the making.
type turn struct {
	a       *Agent
	r       *agent.Reply
	model   string
	talk    []llm.Message
	tools   toolbox
	journal *journal
	used    used
	steps   atomic.Int64 // calls that were begun; several are at once
	said    int          // bytes that were streamed
	mused   strings.Builder
	cut     string // why the model's last words are not whole
}

// think asks the model once, or repeats what it said before a crash, and
// returns the calls that it wants.
func (t *turn) think(ctx context.Context) ([]llm.Call, error) {
	t.used.turns++
	w, known := t.journal.said[t.used.turns]
	var err error
	if known {
		err = t.stream(llm.Delta{Text: w.Text}, &strings.Builder{})
	} else if w, err = t.ask(ctx); err == nil && len(w.Calls) > 0 {
		w, err = t.journal.think(ctx, t.used.turns, w)
	}
	if err != nil {
		return nil, err
	}
	t.used.tokens += w.Tokens
	t.talk = append(t.talk, llm.Message{Role: llm.Assistant, Text: w.Text, Calls: w.Calls})
	return w.Calls, nil
}

// ask asks the model once and streams what it says.
func (t *turn) ask(ctx context.Context) (w words, err error) {
	request := llm.Request{Model: t.model, System: t.system(), Messages: t.talk, Tools: t.tools.offered}
	if left := t.a.Limits.Tokens - t.used.tokens; left < 8192 {
		request.MaxTokens = left
	}
	var text strings.Builder
	t.cut = ""
	for d, err := range t.a.LLM.Stream(ctx, request) {
		if err != nil {
			return w, err
		}
		if d.Usage != nil {
			w.Tokens = d.Usage.Total()
		}
		if d.Call != nil {
			w.Calls = append(w.Calls, *d.Call)
		}
		switch d.Stop {
		case llm.StopLength:
			t.cut = "[The answer was cut off here: the model may write no more at once.]"
		case llm.StopFilter:
			t.cut = "[The model's service stopped the answer here.]"
		}
		if err := t.stream(d, &text); err != nil {
			return w, err
		}
	}
	w.Text = text.String()
	return w, nil
}

// stream passes on what the model says. Texts of several turns are paragraphs.
func (t *turn) stream(d llm.Delta, text *strings.Builder) error {
	if err := t.r.Reasoning(d.Reasoning); err != nil {
		return err
	}
	if t.mused.Len()+len(d.Reasoning) <= longestPart {
		t.mused.WriteString(d.Reasoning)
	}
	if d.Text == "" {
		return nil
	}
	first := text.Len() == 0
	text.WriteString(d.Text)
	if first && t.said > 0 {
		d.Text = "\n\n" + d.Text
	}
	t.said += len(d.Text)
	return t.r.Delta(d.Text)
}

// end ends the answer, with a last word if there is one.
func (t *turn) end(last string) error {
	if last != "" && t.said > 0 {
		last = "\n\n" + last
	}
	t.muse()
	return t.r.Send(last)
}

// system is the owner's prompt, and what the model should know about skills
// that it does not have now.
func (t *turn) system() string {
	var b strings.Builder
	b.WriteString(t.a.Prompt)
	for _, note := range t.tools.missing {
		fmt.Fprintf(&b, "\n\n%s", note)
	}
	return strings.TrimSpace(b.String())
}
