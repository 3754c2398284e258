package answer

import (
	"context"
	"encoding/json"
	"fmt"

	"golang.org/x/sync/errgroup"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/agent"
	"github.com/beeos/beeos/internal/outward/llm"
	"github.com/beeos/beeos/internal/outward/skill"
	"github.com/beeos/beeos/internal/wire/schema"
)

const (
	atOnce      = 8       // tool calls of one answer
	longestPart = 4 << 10 // of a tool call, or of thoughts, in the record of the answer
)

// toolbox is what the model may use in one answer.
type toolbox struct {
	offered []llm.Tool
	byName  map[string]tool
	missing []string // what is not there, for the model
}

type tool struct {
	skill  Skill
	name   string // the server's
	direct bool   // a caller calls it, not the model

	message  bool // it is a message to another agent
	readOnly bool // as its server says
	schema   json.RawMessage
}

// discoverTools asks every skill server for its tools; with fresh, even those that
// were asked a moment ago. One that is down does not stop the answer: the
// model is told.
func (a *Agent) discoverTools(ctx context.Context, fresh bool) toolbox {
	lists := make([][]skill.Tool, len(a.Skills))
	faults := make([]error, len(a.Skills))
	var group errgroup.Group
	for i, s := range a.Skills {
		group.Go(func() error {
			lists[i], faults[i] = s.Tools(ctx, fresh)
			return nil
		})
	}
	_ = group.Wait() // each has its own fault
	box := toolbox{byName: map[string]tool{}}
	for i, s := range a.Skills {
		if faults[i] != nil {
			box.missing = append(box.missing, fmt.Sprintf("The tools of the skill %q are not there now: %v", s.Name, faults[i]))
			continue
		}
		for _, why := range s.LeftOut() {
			box.missing = append(box.missing, fmt.Sprintf("A tool of the skill %q is not there: %s", s.Name, why))
		}
		for _, t := range lists[i] {
			box.byName[t.FullName] = tool{skill: s, name: t.Name, message: t.Message, readOnly: beeos.IsReadOnly(t.Annotations), schema: t.Schema}
			box.offered = append(box.offered, llm.Tool{Name: t.FullName, Description: t.Description, Schema: t.Schema})
		}
	}
	return box
}

// makeCalls makes the calls, several at once, and returns what they came to in the
// order of the calls.
func (t *turn) makeCalls(ctx context.Context, calls []llm.Call) []llm.Message {
	t.used.calls += len(calls)
	results := make([]llm.Message, len(calls))
	var group errgroup.Group
	group.SetLimit(atOnce)
	for i, call := range calls {
		group.Go(func() error {
			t.recordPart(toolUse{Type: "tool_use", ID: call.ID, Name: call.Name, Arguments: t.shownArguments(call), TextOffset: t.said})
			got := t.makeCall(ctx, callPlace{t.used.turns, i + 1}, call)
			t.recordPart(toolResult{Type: "tool_result", ToolUseID: call.ID, Content: beeos.Shorten(got.Text, longestPart), IsError: got.IsError})
			results[i] = llm.Message{Role: llm.ToolRole, CallID: call.ID, Text: got.Text, IsError: got.IsError}
			return nil
		})
	}
	_ = group.Wait() // a call that fails is a result
	return results
}

// makeCall makes one call, if its owner agrees and unless it was made before a
// crash. Whatever goes wrong goes back to the model, which may try something
// else.
func (t *turn) makeCall(ctx context.Context, at callPlace, call llm.Call) (got skill.Result) {
	step := t.r.Step(call.Name, agent.StepTool)
	t.tellArguments(step, call)
	defer func() { endToolStep(step, t.tools.byName[call.Name], &got) }()
	if past, ok := t.journal.pastCall(at); ok {
		step.Set("result", t.journal.origin(at.step))
		return past
	}
	if call.Invalid != "" {
		return t.journal.refuseCall(ctx, at, failedResult("the call was not made: %s", call.Invalid))
	}
	target, ok := t.tools.byName[call.Name]
	if !ok {
		return t.journal.refuseCall(ctx, at, failedResult("there is no tool %q; use one of those that you were given", call.Name))
	}
	return t.callOnce(step.Context(ctx), at, step, target, call.Arguments)
}

// callOnce calls a tool, if its owner agrees and unless somebody else has begun to.
func (t *turn) callOnce(ctx context.Context, at callPlace, step *agent.Step, target tool, arguments json.RawMessage) skill.Result {
	if err := t.approveCall(ctx, at, step, target, arguments); err != nil {
		denied := failedResult("the call was denied and not made: %v", err)
		if ctx.Err() != nil {
			return denied // nobody has decided
		}
		return t.journal.refuseCall(ctx, at, denied)
	}
	if past, mine, err := t.journal.beginCall(ctx, at); err != nil {
		return failedResult("the call was not made: %v", err)
	} else if !mine {
		return past
	}
	_ = t.r.Progress(float64(t.steps.Add(1)), 0, fmt.Sprintf("calling %s of %s", beeos.Visible(target.name), target.skill.Name)) // nobody need watch
	got, err := t.sendCall(ctx, at, target, arguments)
	if err != nil {
		if ctx.Err() != nil {
			return got // how it ends is not known
		}
	}
	t.journal.endCall(ctx, at, got)
	return got
}

// sendCall sends the call to its server, or to the agent. With an error it also
// returns what to say about it: the model hears all, a caller what is meant for
// strangers.
func (t *turn) sendCall(ctx context.Context, at callPlace, target tool, arguments json.RawMessage) (got skill.Result, err error) {
	switch {
	case target.direct:
		if got, err = target.skill.CallWhole(ctx, target.name, arguments); err != nil {
			got = failedResult("%s", publicText(err))
		}
		return got, err
	case target.skill.Peer != nil:
		got, err = t.callPeer(ctx, at, target, arguments)
	default:
		got, err = target.skill.Call(ctx, target.name, arguments)
	}
	if err != nil {
		got = failedResult("%v", err)
	}
	return got, err
}

// approveCall asks the owner. The arguments are those that the call is made with,
// byte for byte.
func (t *turn) approveCall(ctx context.Context, at callPlace, step *agent.Step, target tool, arguments json.RawMessage) error {
	auto := target.skill.Auto(target.name)
	if ask := t.a.Approve; ask != nil {
		t.watch.pause()
		defer t.watch.resume()
		return ask(ctx, t.r, Approval{Key: at.key(), Skill: target.skill.Name, Tool: target.name, Arguments: arguments, Auto: auto, Step: step})
	}
	if !auto {
		return fmt.Errorf("skill %s needs approval, and nobody can be asked here", target.skill.Name)
	}
	step.Set(beeos.StepApproval, beeos.WentByItself)
	return nil
}

func failedResult(format string, args ...any) skill.Result {
	return skill.Result{Text: fmt.Sprintf(format, args...), IsError: true}
}

// toolUse and toolResult are parts of the answer, for who looks at how it came
// about.
type toolUse struct {
	Type      string          `json:"type"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments,omitempty"`

	TextOffset int `json:"text_offset,omitempty"` // how much of the answer's text came before it, in bytes
}

type toolResult struct {
	Type      string `json:"type"`
	ToolUseID string `json:"tool_use_id"`
	Content   string `json:"content"`
	IsError   bool   `json:"is_error,omitempty"`
}

// recordThoughts puts what the model thought into the record; who watched has seen it.
func (t *turn) recordThoughts() {
	if t.thoughts.Len() == 0 {
		return
	}
	part, err := json.Marshal(map[string]string{"type": "thinking", "text": t.thoughts.String()})
	if err == nil {
		err = t.r.Content(part)
	}
	if err != nil {
		t.a.Log.Debug("the thoughts of an answer were not recorded", "err", err)
	}
}

func (t *turn) recordPart(part any) {
	if err := t.r.Part(part); err != nil {
		t.a.Log.Debug("a step of an answer was not recorded", "err", err)
	}
}

// shownArguments returns the arguments without what the tool's schema names secret,
// unless they are too much for a record. Of a tool that is none, everything is.
func (t *turn) shownArguments(call llm.Call) json.RawMessage {
	if len(call.Arguments) > longestPart {
		return nil
	}
	return t.maskArguments(call)
}

func (t *turn) maskArguments(call llm.Call) json.RawMessage {
	secrets := schema.Secrets{}
	if known, ok := t.tools.byName[call.Name]; ok {
		secrets = schema.ReadSecrets(known.schema)
	}
	return secrets.Mask(call.Arguments)
}
