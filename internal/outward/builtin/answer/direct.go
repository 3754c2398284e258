package answer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/agent"
	"github.com/beeos/beeos/internal/outward/skill"
)

// ToolHandler answers calls of one tool of a skill that its owner lets callers
// have: straight from the skill server, without the model, and otherwise by the
// rules of the model's own calls. They are approved, kept and made once alike.
func (a *Agent) ToolHandler(s Skill, toolName string) agent.Handler {
	return func(ctx context.Context, m agent.Message, r *agent.Reply) error {
		ctx, watch, stop := startStopwatch(ctx, a.Limits.Wall, errWall)
		defer stop()
		t := &turn{a: a, r: r, watch: watch}
		got, err := t.callDirectly(ctx, m, tool{skill: s, name: toolName, direct: true})
		switch {
		case ctx.Err() != nil && errors.Is(context.Cause(ctx), errWall):
			return r.Fail(fmt.Sprintf("The call took longer than %s, which is the most; it may have been carried out.", a.Limits.Wall))
		case err != nil:
			return err
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case got.Whole != nil:
			return r.SendToolResult(got.Whole)
		case got.IsError:
			return r.Fail(got.Text)
		}
		return r.Send(got.Text)
	}
}

// callDirectly makes the only call of an answer, unless it was made before a crash.
func (t *turn) callDirectly(ctx context.Context, m agent.Message, target tool) (got skill.Result, err error) {
	if t.journal, err = t.a.openJournal(ctx, m.ID, nil); err != nil {
		return got, err
	}
	at := callPlace{1, 1}
	if past, ok := t.journal.pastCall(at); ok {
		return past, nil
	}
	// The list may be old: what the server has changed since is nobody's to call.
	list, err := target.skill.Tools(ctx, true)
	if err != nil {
		return failedResult("%s", publicText(err)), nil
	}
	i := slices.IndexFunc(list, func(known skill.Tool) bool { return known.Name == target.name })
	if i < 0 {
		return t.journal.refuseCall(ctx, at, failedResult("the tool %s of skill %s is not offered now: its server has changed it or has it no more; list the tools again", beeos.Visible(target.name), target.skill.Name)), nil
	}
	target.readOnly = beeos.IsReadOnly(list[i].Annotations)
	arguments := m.Arguments
	if len(arguments) == 0 {
		arguments = json.RawMessage("{}")
	}
	step := t.r.Step(target.name, agent.StepTool) // without its arguments: they are the request's
	got = t.callOnce(step.Context(ctx), at, step, target, arguments)
	endToolStep(step, target, &got)
	return got, nil
}

// publicText is an error as far as it is meant for callers: without what lies
// behind it, such as addresses.
func publicText(err error) string {
	if ours, ok := errors.AsType[*beeos.Error](err); ok {
		return ours.Message
	}
	return err.Error()
}
