package mcp

import (
	"context"
	"strconv"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/task"
	"github.com/beeos/beeos/internal/wire/httpd"
)

// The tasks extension: a client that declares it may get a task instead of a
// result, and comes back for that. A task is nothing new: it is the request in
// the ledger, under the same id, which was there before the client heard of
// it. What its agent waits to be told is asked of the edge that holds it.

const (
	taskLife  = 24 * time.Hour
	taskPoll  = time.Second
	taskSoon  = 250 * time.Millisecond // a tool that can be a task is one after this
	taskLater = 30 * time.Second       // any other call, before clients lose patience
)

// support is what a tool says about tasks.
type support uint8

const (
	taskUnsaid support = iota
	taskForbidden
	taskOptional
	taskRequired
)

func supportOf(execution []byte) support {
	switch s, _ := httpd.StringValue(httpd.Field(execution, "taskSupport")); s {
	case "forbidden":
		return taskForbidden
	case "optional":
		return taskOptional
	case "required":
		return taskRequired
	}
	return taskUnsaid
}

// startTask makes the call a task before its agent hears of it.
func (c *run) startTask(ctx context.Context) ([]byte, error) {
	sent, err := c.x.g.opt.Calls.Send(ctx, c.req)
	if err != nil {
		return nil, err
	}
	return createdTask(sent.ID), nil
}

// createdTask is the result that a client gets in place of the tool's.
func createdTask(turn string) []byte {
	b := append([]byte(`{"resultType":"task",`), taskHead(turn, "working", beeos.IDTime(turn))...)
	return append(b, '}')
}

// taskHead writes the members that every task has.
func taskHead(turn, status string, updated time.Time) []byte {
	const form = "2006-01-02T15:04:05.000Z07:00"
	b := appendText([]byte(`"taskId":`), turn)
	b = append(b, `,"status":"`+status+`","createdAt":"`...)
	b = beeos.IDTime(turn).AppendFormat(b, form)
	b = append(b, `","lastUpdatedAt":"`...)
	b = updated.UTC().AppendFormat(b, form)
	b = strconv.AppendInt(append(b, `","ttlMs":`...), taskLife.Milliseconds(), 10)
	return strconv.AppendInt(append(b, `,"pollIntervalMs":`...), taskPoll.Milliseconds(), 10)
}

// task finds the task that a request names.
func (x *exchange) task(ctx context.Context, params []byte) (task.Task, error) {
	if !x.can.has(canTasks) {
		return task.Task{}, missingCapability(canTasks.declaration())
	}
	id, _ := httpd.StringValue(httpd.Field(params, "taskId"))
	return x.taskByID(ctx, id)
}

func (x *exchange) taskByID(ctx context.Context, id string) (task.Task, error) {
	t, err := x.g.opt.Calls.Task(ctx, x.caller.Principal(), id)
	if err == nil {
		_, err = x.reach(ctx, t.AgentID)
	}
	if code := beeos.CodeOf(err); err != nil && (code == beeos.NotFound || code == beeos.AgentNotFound) {
		return t, beeos.Errorf(beeos.InvalidParam, "Task not found: params.taskId is not one that this credential has here, or it has expired")
	}
	return t, err
}

// getTask answers tasks/get.
func (x *exchange) getTask(ctx context.Context, m *message) ([]byte, error) {
	if err := x.mayPoll(); err != nil {
		return nil, err
	}
	t, err := x.task(ctx, m.params)
	if err != nil {
		return nil, err
	}
	return append(append([]byte{'{'}, x.taskState(ctx, &t)...), '}'), nil
}

// taskState writes a task as it is now: its members.
func (x *exchange) taskState(ctx context.Context, t *task.Task) []byte {
	if t.Done == nil {
		if asks := x.openAsks(ctx, t.Turn); len(asks) > 0 {
			b := append(taskHead(t.Turn, "input_required", t.Created), `,"inputRequests":`...)
			return append(b, inputRequests(asks)...)
		}
		return taskHead(t.Turn, "working", t.Created)
	}
	if t.Done.State == beeos.StateCancelled {
		return taskHead(t.Turn, "cancelled", t.Done.CreatedAt)
	}
	result, err := x.taskResult(t.Done)
	if err != nil {
		b := append(taskHead(t.Turn, "failed", t.Done.CreatedAt), `,"error":`...)
		return faultOf(err).object(b, x.version)
	}
	return append(append(taskHead(t.Turn, "completed", t.Done.CreatedAt), `,"result":`...), result...)
}

// taskResult is what the call would have returned.
func (x *exchange) taskResult(m *beeos.Message) ([]byte, error) {
	if err := x.agentError(m); err != nil {
		return nil, err
	}
	if m.StopReason == beeos.StopTimeout {
		return nil, beeos.Errorf(beeos.ServiceTimeout, "the agent did not reply in time")
	}
	if neededBy(m) != nil {
		return nil, beeos.Errorf(beeos.InternalError, "the agent ended its turn with questions, which a task cannot come back with")
	}
	return x.toolResult(m)
}

// openAsks are the questions of a task that this client can be asked.
func (x *exchange) openAsks(ctx context.Context, turn string) (asks []beeos.Event) {
	open, _ := x.g.opt.Calls.Asks(ctx, turn)
	for i := range open {
		if x.can.has(needs(&open[i])) {
			asks = append(asks, open[i])
		}
	}
	return asks
}

// updateTask answers tasks/update: answers for the agent's open questions.
// Those for others are ignored.
func (x *exchange) updateTask(ctx context.Context, m *message) ([]byte, error) {
	t, err := x.task(ctx, m.params)
	if err != nil {
		return nil, err
	}
	input, err := readInput(httpd.Field(m.params, "inputResponses"))
	if err != nil {
		return nil, err
	}
	for _, ev := range x.openAsks(ctx, t.Turn) {
		if answer, ok := input[ev.Key]; ok {
			x.reply(ctx, ev.AskID, answer, nil)
		}
	}
	x.g.opt.Calls.Asks(ctx, t.Turn) // comes after the answers: whoever looks next sees them taken
	return []byte(`{}`), nil
}

// cancelTask answers tasks/cancel. To cancel what is over is no error.
func (x *exchange) cancelTask(ctx context.Context, m *message) ([]byte, error) {
	t, err := x.task(ctx, m.params)
	if err == nil && t.Done == nil {
		err = x.g.opt.Calls.Cancel(ctx, t.Channel, t.Turn, "cancelled by the client")
	}
	if err != nil {
		return nil, err
	}
	return []byte(`{}`), nil
}
