package a2a

import (
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/invoke"
	"github.com/beeos/beeos/internal/engine/task"
	"github.com/beeos/beeos/internal/surface/a2a/wire"
)

const (
	pageDefault = 50
	pageMost    = 100
)

// readTask returns the task that the parameters name. In 0.3 some name it id
// where others name it taskId.
func (o *operation) readTask(ctx context.Context) (task.Task, error) {
	id := cmp.Or(o.params.Text("id"), o.params.Text("taskId"))
	if err := o.params.Err(); err != nil {
		return task.Task{}, err
	}
	return o.ownTask(ctx, id)
}

// ownTask returns a task of the caller's with this agent. One that is somebody
// else's and one that was never made are the same error. A name like tasks/{id}
// is of an earlier draft.
func (o *operation) ownTask(ctx context.Context, id string) (task.Task, error) {
	if id == "" {
		return task.Task{}, beeos.Errorf(beeos.MissingParam, "the id of the task is required")
	}
	t, err := o.surface.opt.Calls.Task(ctx, o.caller.Principal(), strings.TrimPrefix(id, "tasks/"))
	if err != nil && beeos.CodeOf(err) != beeos.NotFound {
		return t, err
	}
	if err != nil || t.AgentID != o.agent.ID {
		return t, wire.Refuse(wire.TaskNotFound, "you have no such task with this agent; list your tasks to see those you have")
	}
	return t, nil
}

// viewTask is a task as it stands. history is how many messages of it are
// wanted; nil: all.
func viewTask(ctx context.Context, calls *invoke.Calls, t *task.Task, history *int) (*a2a.Task, error) {
	v := wire.TaskOf(t)
	paused := t.Status == beeos.TaskInputRequired || t.Status == beeos.TaskAuthRequired
	if t.Done != nil {
		wire.FinishTask(v, t.Done)
	}
	if !paused && history != nil && *history == 0 {
		return v, nil
	}
	said, err := calls.TaskMessages(ctx, t)
	if err != nil {
		return nil, err
	}
	wire.AddHistory(v, said)
	if n := len(v.History); history != nil && n > *history {
		v.History = v.History[n-*history:]
	}
	return v, nil
}

func (o *operation) getTask(ctx context.Context) (any, error) {
	history := o.params.HistoryLength()
	t, err := o.readTask(ctx)
	if err != nil {
		return nil, err
	}
	return viewTask(ctx, o.surface.opt.Calls, &t, history)
}

// cancelTask asks the agent to stop, and answers with what came of it.
func (o *operation) cancelTask(ctx context.Context) (any, error) {
	t, err := o.readTask(ctx)
	if err != nil {
		return nil, err
	}
	if t.Done != nil {
		return nil, wire.Refuse(wire.TaskNotCancelable, "the task is %s already", t.Status)
	}
	if err := o.surface.opt.Calls.Stop(ctx, t.Channel, t.Turn, "cancelled over A2A"); err != nil {
		return nil, err
	}
	if t, err = o.ownTask(ctx, t.Turn); err != nil {
		return nil, err
	}
	return viewTask(ctx, o.surface.opt.Calls, &t, nil)
}

// listTasks lists the caller's tasks with this agent, the one that changed
// last first.
func (o *operation) listTasks(ctx context.Context) (any, error) {
	f, err := o.readFilter()
	if err != nil {
		return nil, err
	}
	history, artifacts := cmp.Or(o.params.HistoryLength(), new(int)), o.params.Flag("includeArtifacts")
	if err := o.params.Err(); err != nil {
		return nil, err
	}
	size := f.AtMost
	f.AtMost++
	tasks, total, err := o.surface.opt.Calls.TaskPage(ctx, f)
	if err != nil {
		return nil, err
	}
	list := &a2a.ListTasksResponse{Tasks: []*a2a.Task{}, TotalSize: total, PageSize: size}
	if len(tasks) > size {
		tasks = tasks[:size]
		list.NextPageToken = pageToken(&tasks[size-1])
	}
	for i := range tasks {
		v, err := viewTask(ctx, o.surface.opt.Calls, &tasks[i].Task, history)
		if err != nil {
			return nil, err
		}
		if v.Status.Timestamp = wire.Timestamp(tasks[i].At); !artifacts {
			v.Artifacts = nil
		}
		list.Tasks = append(list.Tasks, v)
	}
	return list, nil
}

// readFilter reads which tasks are to be listed.
func (o *operation) readFilter() (f task.PageFilter, err error) {
	f = task.PageFilter{Caller: o.caller, Agent: o.agent, AtMost: pageDefault, Replies: true}
	if n := o.params.Number("pageSize"); n != nil {
		f.AtMost = *n
	}
	if context := o.params.Text("contextId"); context != "" {
		f.Channel = invoke.ContextChannel(&o.caller, o.agent.ID, context)
	}
	after, token := o.params.Text("statusTimestampAfter"), o.params.Text("pageToken")
	if f.Status, err = wire.ReadState(o.params.Text("status")); err == nil {
		err = o.params.Err()
	}
	if err == nil && (f.AtMost < 1 || f.AtMost > pageMost) {
		err = beeos.Errorf(beeos.InvalidParam, "pageSize must be from 1 to %d", pageMost)
	}
	if err == nil && after != "" {
		if f.After, err = time.Parse(time.RFC3339, after); err != nil {
			err = beeos.Errorf(beeos.InvalidParam, "statusTimestampAfter must be a time like 2027-01-31T12:00:00Z")
		}
	}
	if err == nil && token != "" {
		f.BeforeAt, f.Before, err = readToken(token)
	}
	return f, err
}

// pageToken says where the next page begins; readToken reads it again.
func pageToken(last *task.PageTask) string {
	return base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "%d %s", last.At.UnixMicro(), last.Turn))
}

func readToken(token string) (at time.Time, turn string, err error) {
	text, err := base64.RawURLEncoding.DecodeString(token)
	micros, turn, _ := strings.Cut(string(text), " ")
	n, bad := strconv.ParseInt(micros, 10, 64)
	if err != nil || bad != nil || beeos.IDTime(turn).IsZero() {
		return at, "", beeos.Errorf(beeos.InvalidParam, "pageToken must be the nextPageToken of the page before")
	}
	return time.UnixMicro(n), turn, nil
}
