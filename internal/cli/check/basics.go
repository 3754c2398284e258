package check

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/internal/outward/bridge/mcp/session"
)

func answerMessage(ctx context.Context, w *world) error {
	return w.expect(ctx, "hello", "you said: hello")
}

func listTools(ctx context.Context, w *world) error {
	s, err := w.openSession(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	raw, err := s.Call(ctx, "tools/list", session.Object{}, session.Hooks{})
	if err != nil {
		return err
	}
	var list struct {
		Tools []struct {
			Name, Description string
			InputSchema       struct{ Required []string }
		}
	}
	if err := json.Unmarshal(raw, &list); err != nil {
		return err
	}
	for _, tool := range list.Tools {
		if tool.Name != "add" {
			continue
		}
		slices.Sort(tool.InputSchema.Required)
		if tool.Description != "Adds two numbers." || !slices.Equal(tool.InputSchema.Required, []string{"a", "b"}) {
			return fmt.Errorf("add is described as %q and requires %q", tool.Description, tool.InputSchema.Required)
		}
		return nil
	}
	return fmt.Errorf("add is not among the %d tools", len(list.Tools))
}

func callTool(ctx context.Context, w *world) error {
	return w.expectTool(ctx, "add", map[string]int{"a": 2, "b": 3}, "5")
}

func refuseArguments(ctx context.Context, w *world) error {
	before, err := w.say(ctx, "count add")
	if err != nil {
		return err
	}
	for _, args := range []map[string]any{{"a": "two", "b": 3}, {"a": 2}, {}} {
		result, err := w.callTool(ctx, "add", args)
		if err := wantRefusal(beeos.InvalidParam, result, err); err != nil {
			return fmt.Errorf("add with %v %w", args, err)
		}
	}
	return w.expect(ctx, "count add", before)
}

func refuseTool(ctx context.Context, w *world) error {
	result, err := w.callTool(ctx, "no_such_tool", struct{}{})
	if err := wantRefusal(beeos.NotFound, result, err); err != nil {
		return fmt.Errorf("a tool that is not there %w", err)
	}
	return nil
}

// wantRefusal is an error unless a call of a tool was refused with this code. A server
// that cannot be reached has refused nothing, and a result that says so is the agent's.
func wantRefusal(code beeos.Code, result *client.ToolResult, err error) error {
	switch refusal, ok := errors.AsType[*beeos.Error](err); {
	case err == nil:
		return fmt.Errorf("was answered %s", quote(result.Text()))
	case !ok || refusal.Code != code:
		return fmt.Errorf("came to %w, want %s", err, code)
	}
	return nil
}

// listen says something and returns what came before the answer, and that.
func listen(ctx context.Context, w *world, message string) (deltas []string, thoughts, answer string, err error) {
	for ev, err := range w.client().Stream(ctx, w.id, client.InvokeRequest{Message: message}) {
		switch {
		case err != nil:
			return deltas, thoughts, "", err
		case ev.Done != nil:
			return deltas, thoughts, ev.Done.Text, nil
		case ev.Delta != "":
			deltas = append(deltas, ev.Delta)
		}
		thoughts += ev.Reasoning
	}
	return deltas, thoughts, "", errors.New("the stream ended without an answer")
}

func streamPieces(ctx context.Context, w *world) error {
	deltas, _, answer, err := listen(ctx, w, "stream 3")
	if err != nil {
		return err
	}
	if err := compare("stream 3", answer, "1 2 3 "); err != nil {
		return err
	}
	if whole := strings.Join(deltas, ""); len(deltas) < 2 || whole != answer {
		return fmt.Errorf("the pieces %q came before the answer %q", deltas, answer)
	}
	return nil
}

func streamThoughts(ctx context.Context, w *world) error {
	_, thoughts, answer, err := listen(ctx, w, "think hard")
	if err != nil {
		return err
	}
	if err := compare("think hard", answer, "thought about hard"); err != nil {
		return err
	}
	if thoughts != "thinking about hard" {
		return fmt.Errorf("the thoughts are %q", thoughts)
	}
	return nil
}

// heard is what an MCP client was told while it waited.
type heard struct {
	told []json.RawMessage
}

func (h *heard) add(params json.RawMessage) { h.told = append(h.told, params) }

// find looks for something that was told; the sessions tell one thing after the
// other, and nothing after the answer.
func (h *heard) find(so func(params json.RawMessage) bool) error {
	if slices.ContainsFunc(h.told, so) {
		return nil
	}
	return fmt.Errorf("the client was told %s", cut(fmt.Sprintf("%s", h.told)))
}

func tellProgress(ctx context.Context, w *world) error {
	var h heard
	if _, err := w.callInSession(ctx, "progress", session.Hooks{Progress: h.add}); err != nil {
		return err
	}
	return h.find(func(params json.RawMessage) bool {
		var p struct {
			Progress, Total float64
			Message         string
		}
		return json.Unmarshal(params, &p) == nil && p.Progress == 1 && p.Total == 2 && p.Message == "half way"
	})
}

func tellLog(ctx context.Context, w *world) error {
	var h heard
	if _, err := w.callInSession(ctx, "log", session.Hooks{Log: h.add}); err != nil {
		return err
	}
	return h.find(func(params json.RawMessage) bool {
		var p struct{ Level, Data string }
		return json.Unmarshal(params, &p) == nil && p.Level == "warning" && p.Data == "it is getting late"
	})
}

func cancelWork(ctx context.Context, w *world) error {
	before, err := w.say(ctx, "count cancelled")
	if err != nil {
		return err
	}
	task, _, err := w.beginTask(ctx, "wait", "waiting")
	if err != nil {
		return err
	}
	cancelled, err := w.client().CancelTask(ctx, w.id, task, "enough")
	if err != nil {
		return err
	}
	if cancelled.Status != beeos.TaskCanceled {
		return fmt.Errorf("the task is %s", cancelled.Status)
	}
	n := 0
	if _, err := fmt.Sscan(before, &n); err != nil {
		return fmt.Errorf("\"count cancelled\" was answered %s, want a number", quote(before))
	}
	return w.awaitAnswer(ctx, "count cancelled", fmt.Sprint(n+1))
}

func failOpenly(ctx context.Context, w *world) error {
	answer, err := w.client().Invoke(ctx, w.id, client.InvokeRequest{Message: "fail the disk is full"})
	if err != nil {
		return err
	}
	if !answer.IsError || answer.Text != "the disk is full" {
		return fmt.Errorf("the answer is %s, marked as a failure: %t", quote(answer.Text), answer.IsError)
	}
	result, err := w.callTool(ctx, "fail", map[string]string{"text": "no luck"})
	if err != nil {
		return err
	}
	if !result.IsError || result.Text() != "no luck" {
		return fmt.Errorf("the tool's result is %s, marked as a failure: %t", quote(result.Text()), result.IsError)
	}
	return nil
}

func declineOpenly(ctx context.Context, w *world) error {
	answer, err := w.client().Invoke(ctx, w.id, client.InvokeRequest{Message: "refuse not today"})
	if err == nil {
		return fmt.Errorf("it was answered %s", quote(answer.Text))
	}
	if beeos.CodeOf(err) != beeos.Conflict || !strings.Contains(err.Error(), "not today") {
		return fmt.Errorf("the caller hears %q", err)
	}
	return nil
}
