// Package answer is how a built-in agent answers one message: a loop between
// the model and its tools (answer.go, tools.go, skills.go) over the conversation so far
// (history.go), or, where the owner lets callers have a tool, one call of that
// (direct.go), within limits (limits.go, stopwatch.go). What it has done is kept for whoever
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

	"golang.org/x/sync/semaphore"

	"github.com/beeos/beeos/agent"
	"github.com/beeos/beeos/internal/outward/llm"
	"github.com/beeos/beeos/internal/store/builtins"
)

const noModel = "This agent has no model to think with: set LLM_MODEL and LLM_API_KEY (or LLM_URL) on the server, and restart it."

// Approval is a tool call that is about to be made.
type Approval struct {
	Key         string // names the call in its answer, also after a crash
	Skill, Tool string
	Arguments   json.RawMessage
	Auto        bool // the skill's owner said that it need not be asked about

	Step *agent.Step // of the call, for telling what was decided
}

// Agent is a built-in agent as far as its answers go.
type Agent struct {
	ID     string // of its row
	Prompt string
	Model  string   // empty = the one that is configured
	Models []string // that callers may choose for a conversation
	// Fallbacks are asked in turn when a model does not begin to answer.
	Fallbacks []string

	Limits Limits
	Skills []Skill

	LLM     llm.Model           // nil = none is configured, and every answer says so
	Reading *semaphore.Weighted // taken by who reads a conversation, whichever agent's; MaxReading at once
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
	model, prompt, tried := cmp.Or(m.Model, a.Model), a.Prompt, false
	if m.Trial != nil { // which only the agent's owner could set
		if tried = m.Trial.Model != ""; tried {
			model = m.Trial.Model
		}
		if m.Trial.Prompt != nil {
			prompt = *m.Trial.Prompt
		}
	}
	if model != a.Model && !tried && !slices.Contains(a.Models, model) {
		return r.Fail(fmt.Sprintf("The model %q that was chosen for this conversation is not one that this agent may use; choose one of %q.", model, a.Models))
	}
	ctx, watch, stop := startStopwatch(ctx, a.Limits.Wall, errWall)
	defer stop()
	t := &turn{a: a, r: r, model: model, prompt: prompt, watch: watch, skill: m.Tool}
	if !tried { // a trial is to show what that model says
		t.fallbacks = slices.DeleteFunc(slices.Clone(a.Fallbacks), func(f string) bool { return f == model })
	}
	last, err := t.runLoop(ctx, m)
	if err != nil && errors.Is(context.Cause(ctx), errWall) {
		last, err = timeLimitReached(a.Limits), nil
	}
	if err != nil {
		return err
	}
	return t.endAnswer(last)
}

// runLoop asks and acts until the model has said all that it wants to, and returns
// a last word for the caller, if there is one.
func (t *turn) runLoop(ctx context.Context, m agent.Message) (last string, err error) {
	talk, first, err := t.a.readHistory(ctx, m, t.r)
	if err != nil {
		return "", err
	}
	t.messages, t.tools = talk, t.a.discoverTools(ctx, first)
	if t.journal, err = t.a.openJournal(ctx, m.ID, m.Trial); err != nil {
		return "", err
	}
	for {
		if why := t.used.limitReached(t.a.Limits); why != "" {
			return why, nil
		}
		calls, err := t.askOrReplay(ctx)
		if err != nil || len(calls) == 0 {
			return t.cut, err
		}
		if why := t.used.callLimitReached(t.a.Limits, len(calls)); why != "" {
			return why, nil
		}
		t.messages = append(t.messages, t.makeCalls(ctx, calls)...)
		if ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
	}
}

// turn is one answer in the making.
type turn struct {
	a     *Agent
	r     *agent.Reply
	model string
	// fallbacks are the models that can still be asked.
	fallbacks []string
	prompt    string
	skill     string // that the caller asks for; "" = none
	messages  []llm.Message
	tools     toolbox
	journal   *journal
	used      used
	watch     *stopwatch
	steps     atomic.Int64 // calls that were begun; several are at once
	told      atomic.Int64 // bytes of arguments in steps
	said      int          // bytes that were streamed
	thoughts  strings.Builder
	cut       string // why the model's last words are not whole
}

// askOrReplay asks the model once, or repeats what it said before a crash, and
// returns the calls that it wants.
func (t *turn) askOrReplay(ctx context.Context) ([]llm.Call, error) {
	t.used.turns++
	w, known := t.journal.said[t.used.turns]
	var err error
	if known {
		name, from := cmp.Or(t.model, "model"), t.journal.origin(t.used.turns)
		if from == fromFork {
			name = "model" // perhaps not the one that this answer is tried with
		}
		step := t.r.Step(name, agent.StepModel)
		err = t.streamDelta(llm.Delta{Text: w.Text}, &strings.Builder{})
		t.endModelStep(step, &w, from, err)
	} else if w, err = t.askWithFallbacks(ctx); err == nil && len(w.Calls) > 0 {
		w, err = t.journal.keepWords(ctx, t.used.turns, w)
	}
	if err != nil {
		return nil, err
	}
	if t.used.turns >= t.journal.forked { // what a fork takes over has been paid for
		t.used.tokens += w.Tokens
	}
	t.messages = append(t.messages, llm.Message{Role: llm.Assistant, Text: w.Text, Calls: w.Calls})
	return w.Calls, nil
}

// askWithFallbacks is askWithFiles, and again of the next model when one does not
// begin to answer. The rest of the answer stays with the model that did.
func (t *turn) askWithFallbacks(ctx context.Context) (w modelWords, err error) {
	for {
		step := t.r.Step(cmp.Or(t.model, "model"), agent.StepModel)
		w, err = t.askWithFiles(step.Context(ctx))
		t.endModelStep(step, &w, "", err)
		if err == nil || w.Begun || ctx.Err() != nil || len(t.fallbacks) == 0 {
			return w, err
		}
		t.a.Log.Warn("a model does not answer; the next is asked", "model", t.model, "next", t.fallbacks[0], "err", err)
		t.model, t.fallbacks = t.fallbacks[0], t.fallbacks[1:]
	}
}

// askWithFiles is askModel, and again without pictures and documents if the service
// does not take those.
func (t *turn) askWithFiles(ctx context.Context) (modelWords, error) {
	w, err := t.askModel(ctx)
	if err != nil && llm.MayRefuseFiles(err) && llm.HasFiles(t.messages) {
		t.a.Log.Warn("the model service takes no files; it is asked without them", "err", err)
		t.messages = llm.WithoutFiles(t.messages)
		w, err = t.askModel(ctx)
	}
	return w, err
}

// askModel asks the model once and streams what it says.
func (t *turn) askModel(ctx context.Context) (w modelWords, err error) {
	request := llm.Request{Model: t.model, System: t.systemPrompt(), Messages: t.messages, Tools: t.tools.offered}
	left := t.a.Limits.Tokens - t.used.tokens
	if left < 8192 {
		request.MaxTokens = left
	}
	var text strings.Builder
	var stop llm.Stop
	written := 0
	t.cut = ""
	for d, err := range t.a.LLM.Stream(ctx, request) {
		if err != nil {
			return w, err
		}
		w.Begun = true
		if d.Usage != nil {
			w.Tokens, w.Input, w.Output = d.Usage.Total(), d.Usage.Input, d.Usage.Output
		}
		if d.Call != nil {
			w.Calls = append(w.Calls, *d.Call)
		}
		stop = cmp.Or(d.Stop, stop)
		switch d.Stop {
		case llm.StopLength:
			t.cut = "[The answer was cut off here: the model may write no more at once.]"
		case llm.StopFilter:
			t.cut = "[The model's service stopped the answer here.]"
		}
		if err := t.streamDelta(d, &text); err != nil {
			return w, err
		}
		if written += len(d.Text) + len(d.Reasoning); written/bytesPerToken > left { // not every service keeps to MaxTokens
			t.cut, stop = tokenLimitReached(t.a.Limits, t.used.tokens+written/bytesPerToken), llm.StopLength
			break
		}
	}
	if w.Tokens == 0 { // the service does not tell
		w.Input, w.Output, w.Estimated = request.Size()/bytesPerToken, written/bytesPerToken, true
		w.Tokens = w.Input + w.Output
	}
	w.Finish = string(stop)
	for i := range w.Calls {
		if stop.CutOff() {
			w.Calls[i].Invalidate(stop)
		}
	}
	w.Text = text.String()
	return w, nil
}

// streamDelta passes on what the model says. Texts of several turns are paragraphs.
func (t *turn) streamDelta(d llm.Delta, text *strings.Builder) error {
	if err := t.r.Reasoning(d.Reasoning); err != nil {
		return err
	}
	if t.thoughts.Len()+len(d.Reasoning) <= longestPart {
		t.thoughts.WriteString(d.Reasoning)
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

// endAnswer ends the answer, with a last word if there is one.
func (t *turn) endAnswer(last string) error {
	if last != "" && t.said > 0 {
		last = "\n\n" + last
	}
	t.recordThoughts()
	return t.r.Send(last)
}

// systemPrompt returns the owner's prompt, and what the model should know about the
// skill that it is asked for and about those that it does not have now.
func (t *turn) systemPrompt() string {
	var b strings.Builder
	b.WriteString(t.prompt)
	for _, note := range t.tools.missing {
		fmt.Fprintf(&b, "\n\n%s", note)
	}
	if slices.ContainsFunc(t.a.Skills, func(s Skill) bool { return s.Name == t.skill }) {
		fmt.Fprintf(&b, "\n\nThe caller asks for your skill %q: use it where it helps.", t.skill)
	}
	return strings.TrimSpace(b.String())
}
