package a2a

import (
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
)

const (
	pageDefault = 50
	pageMost    = 100
)

// taskID reads the id of a task. In 0.3 some name it id where others name it
// taskId; a name like tasks/{id} is of an earlier draft.
func (x *exchange) taskID(name string) (string, error) {
	id, err := x.params.text(name)
	if id == "" && err == nil {
		id, err = x.params.text("taskId")
	}
	return strings.TrimPrefix(id, "tasks/"), err
}

func (x *exchange) getTask(ctx context.Context) (any, error) {
	id, err := x.taskID("id")
	if err != nil {
		return nil, err
	}
	history, err := readHistory(x.params)
	if err != nil {
		return nil, err
	}
	t, err := x.ownTask(ctx, id)
	if err != nil {
		return nil, err
	}
	return viewOr(view(ctx, x.g.opt.Calls, &t, history))
}

// viewOr keeps a nil task from becoming a value.
func viewOr(t *a2a.Task, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	return t, nil
}

// cancelTask asks the agent to stop, and answers with what came of it.
func (x *exchange) cancelTask(ctx context.Context) (any, error) {
	id, err := x.taskID("id")
	if err != nil {
		return nil, err
	}
	t, err := x.ownTask(ctx, id)
	if err != nil {
		return nil, err
	}
	if t.Done != nil {
		return nil, refuse(taskNotCancelable, "the task is %s already", t.Status)
	}
	if err := x.g.opt.Calls.Stop(ctx, t.Channel, t.Turn, "cancelled over A2A"); err != nil {
		return nil, err
	}
	if t, err = x.ownTask(ctx, id); err != nil {
		return nil, err
	}
	return viewOr(view(ctx, x.g.opt.Calls, &t, nil))
}

// listTasks lists the caller's tasks with this agent, the one that changed
// last first.
func (x *exchange) listTasks(ctx context.Context) (any, error) {
	f, more, err := x.readList()
	if err != nil {
		return nil, err
	}
	size := f.AtMost
	f.AtMost++
	tasks, total, err := x.g.opt.Calls.TaskPage(ctx, f)
	if err != nil {
		return nil, err
	}
	list := &a2a.ListTasksResponse{Tasks: []*a2a.Task{}, TotalSize: total, PageSize: size}
	if len(tasks) > size {
		tasks = tasks[:size]
		list.NextPageToken = pageToken(&tasks[size-1])
	}
	for i := range tasks {
		v, err := view(ctx, x.g.opt.Calls, &tasks[i].Task, more.history)
		if err != nil {
			return nil, err
		}
		if v.Status.Timestamp = moment(tasks[i].At); !more.artifacts {
			v.Artifacts = nil
		}
		list.Tasks = append(list.Tasks, v)
	}
	return list, nil
}

// shown is how much of each task a list has.
type shown struct {
	history   *int
	artifacts bool
}

func (x *exchange) readList() (f task.PageFilter, more shown, err error) {
	var context, state, token, after string
	err = x.params.texts(map[string]*string{"contextId": &context, "status": &state, "pageToken": &token, "statusTimestampAfter": &after})
	if err != nil {
		return f, more, err
	}
	f = task.PageFilter{Caller: x.caller, Agent: x.agent, AtMost: pageDefault}
	if f.AtMost, err = x.pageSize(); err != nil {
		return f, more, err
	}
	if context != "" {
		f.Channel = invoke.ContextChannel(x.caller.Principal(), x.agent.ID, context)
	}
	if f.Status, err = readState(state); err != nil {
		return f, more, err
	}
	if after != "" {
		if f.After, err = time.Parse(time.RFC3339, after); err != nil {
			return f, more, beeos.Errorf(beeos.InvalidParam, "statusTimestampAfter must be a time like 2027-01-31T12:00:00Z")
		}
	}
	if token != "" {
		if f.BeforeAt, f.Before, err = readToken(token); err != nil {
			return f, more, err
		}
	}
	if more.history, err = readHistory(x.params); err != nil {
		return f, more, err
	}
	if more.history == nil {
		more.history = new(int)
	}
	more.artifacts, err = x.params.flag("includeArtifacts")
	f.Replies = true
	return f, more, err
}

func (x *exchange) pageSize() (int, error) {
	n, err := x.params.number("pageSize")
	switch {
	case err != nil:
		return 0, err
	case n == nil:
		return pageDefault, nil
	case *n < 1 || *n > pageMost:
		return 0, beeos.Errorf(beeos.InvalidParam, "pageSize must be from 1 to %d", pageMost)
	}
	return *n, nil
}

// readState takes a state in the words of any dialect.
func readState(given string) ([]beeos.TaskStatus, error) {
	if given == "" || given == "TASK_STATE_UNSPECIFIED" {
		return nil, nil
	}
	var all []beeos.TaskStatus
	for ours, theirs := range states {
		if string(theirs) == given || oldState(theirs) == given {
			all = append(all, ours)
		}
	}
	if all == nil {
		return nil, beeos.Errorf(beeos.InvalidParam, "status %.60q is no state of a task", given)
	}
	return all, nil
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
