package call

import (
	"context"
	"fmt"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/task"
	"github.com/beeos/beeos/internal/surface/mcp/replies"
	"github.com/beeos/beeos/internal/surface/mcp/wire"
	"github.com/beeos/beeos/internal/wire/strictjson"
)

// The tasks extension: a client that declares it may get a task instead of a
// result, and comes back for that. A task is nothing new: it is the request in
// the ledger, under the same id, which was there before the client heard of
// it. What its agent waits to be told is asked of the edge that holds it.

// startTask makes the call a task before its agent hears of it.
func (c *activeCall) startTask(ctx context.Context) ([]byte, error) {
	sent, err := c.x.Runner.Calls.Send(ctx, c.req)
	if err != nil {
		return nil, err
	}
	return wire.CreatedTask(sent.ID), nil
}

// readTask finds the task that a request names.
func (x *Client) readTask(ctx context.Context, params []byte) (task.Task, error) {
	if !x.Can.Has(wire.CanTasks) {
		return task.Task{}, wire.MissingCapability(wire.CanTasks)
	}
	id, _ := strictjson.StringField(params, "taskId")
	return x.TaskByID(ctx, id)
}

func (x *Client) TaskByID(ctx context.Context, id string) (task.Task, error) {
	t, err := x.Runner.Calls.Task(ctx, x.Caller.Principal(), id)
	if err == nil {
		_, err = x.findReachable(ctx, t.AgentID)
	}
	if code := beeos.CodeOf(err); err != nil && (code == beeos.NotFound || code == beeos.AgentNotFound) {
		return t, beeos.Errorf(beeos.InvalidParam, "Task not found: params.taskId is not one that this credential has here, or it has expired")
	}
	return t, err
}

// GetTask answers tasks/get.
func (x *Client) GetTask(ctx context.Context, m *wire.Message) ([]byte, error) {
	if err := x.takePoll(); err != nil {
		return nil, err
	}
	t, err := x.readTask(ctx, m.Params)
	if err != nil {
		return nil, err
	}
	return fmt.Appendf(nil, `{%s}`, x.TaskState(ctx, &t)), nil
}

// TaskState writes a task as it is now: its members.
func (x *Client) TaskState(ctx context.Context, t *task.Task) []byte {
	if t.Done == nil {
		if asks := x.openAsks(ctx, t.Turn); len(asks) > 0 {
			return fmt.Appendf(nil, `%s,"inputRequests":%s`, wire.TaskHead(t.Turn, "input_required", t.Created), wire.InputRequests(asks))
		}
		return wire.TaskHead(t.Turn, "working", t.Created)
	}
	if t.Done.State == beeos.StateCancelled {
		return wire.TaskHead(t.Turn, "cancelled", t.Done.CreatedAt)
	}
	result, err := x.taskResult(t.Done)
	if err != nil {
		b := append(wire.TaskHead(t.Turn, "failed", t.Done.CreatedAt), `,"error":`...)
		return wire.FaultOf(err).AppendObject(b, x.Version)
	}
	return append(append(wire.TaskHead(t.Turn, "completed", t.Done.CreatedAt), `,"result":`...), result...)
}

// taskResult is what the call would have returned.
func (x *Client) taskResult(m *beeos.Message) ([]byte, error) {
	if err := replies.AgentError(m, x.Version); err != nil {
		return nil, err
	}
	if m.StopReason == beeos.StopTimeout {
		return nil, beeos.Errorf(beeos.ServiceTimeout, "the agent did not reply in time")
	}
	if replies.ReadNeededInput(m) != nil {
		return nil, beeos.Errorf(beeos.InternalError, "the agent ended its turn with questions, which a task cannot come back with")
	}
	return x.toolResult(m)
}

// openAsks are the questions of a task that this client can be asked.
func (x *Client) openAsks(ctx context.Context, turn string) (asks []beeos.Event) {
	open, _ := x.Runner.Calls.Asks(ctx, turn)
	for i := range open {
		if x.Can.Has(wire.NeededCapability(&open[i])) {
			asks = append(asks, open[i])
		}
	}
	return asks
}

// UpdateTask answers tasks/update: answers for the agent's open questions.
// Those for others are ignored.
func (x *Client) UpdateTask(ctx context.Context, m *wire.Message) ([]byte, error) {
	t, err := x.readTask(ctx, m.Params)
	if err != nil {
		return nil, err
	}
	input, err := wire.ReadInput(strictjson.Field(m.Params, "inputResponses"))
	if err != nil {
		return nil, err
	}
	for _, ev := range x.openAsks(ctx, t.Turn) {
		if answer, ok := input[ev.Key]; ok {
			x.answerAgent(ctx, ev.AskID, answer, nil)
		}
	}
	x.Runner.Calls.Asks(ctx, t.Turn) // comes after the answers: whoever looks next sees them taken
	return []byte(`{}`), nil
}

// CancelTask answers tasks/cancel. To cancel what is over is no error.
func (x *Client) CancelTask(ctx context.Context, m *wire.Message) ([]byte, error) {
	t, err := x.readTask(ctx, m.Params)
	if err == nil && t.Done == nil {
		err = x.Runner.Calls.Cancel(ctx, t.Channel, t.Turn, "cancelled by the client")
	}
	if err != nil {
		return nil, err
	}
	return []byte(`{}`), nil
}
