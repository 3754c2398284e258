package a2a

import (
	"context"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/invoke"
	"github.com/beeos/beeos/internal/engine/task"
	"github.com/beeos/beeos/internal/wire/httpd"
)

// states is the one table from our task's words to A2A's.
var states = map[beeos.TaskStatus]a2a.TaskState{
	beeos.TaskQueued:        a2a.TaskStateSubmitted,
	beeos.TaskRunning:       a2a.TaskStateWorking,
	beeos.TaskInputRequired: a2a.TaskStateInputRequired,
	beeos.TaskAuthRequired:  a2a.TaskStateAuthRequired,
	beeos.TaskCompleted:     a2a.TaskStateCompleted,
	beeos.TaskFailed:        a2a.TaskStateFailed,
	beeos.TaskTimeout:       a2a.TaskStateFailed,
	beeos.TaskCanceled:      a2a.TaskStateCanceled,
	beeos.TaskRejected:      a2a.TaskStateRejected,
}

// contextOf is a task's context: the client's own name for it, or the channel.
func contextOf(metadata map[string]string, channel string) string {
	return orElse(metadata[invoke.MetaA2AContext], channel)
}

// ownTask returns a task of the caller's with this agent. One that is somebody
// else's and one that was never made are the same error.
func (x *exchange) ownTask(ctx context.Context, id string) (task.Task, error) {
	if id == "" {
		return task.Task{}, beeos.Errorf(beeos.MissingParam, "the id of the task is required")
	}
	t, err := x.g.opt.Calls.Task(ctx, x.caller.Principal(), id)
	if err != nil && beeos.CodeOf(err) != beeos.NotFound {
		return t, err
	}
	if err != nil || t.AgentID != x.agent.ID {
		return t, refuse(taskNotFound, "you have no such task with this agent; list your tasks to see those you have")
	}
	return t, nil
}

// view is a task as it stands. history is how many messages of it are wanted;
// nil: all.
func view(ctx context.Context, calls *invoke.Calls, t *task.Task, history *int) (*a2a.Task, error) {
	v := &a2a.Task{
		ID: a2a.TaskID(t.Turn), ContextID: contextOf(t.Metadata, t.Channel),
		Status: a2a.TaskStatus{State: states[t.Status], Timestamp: moment(t.Created)},
	}
	paused := t.Status == beeos.TaskInputRequired || t.Status == beeos.TaskAuthRequired
	if t.Done != nil {
		finish(v, t.Done)
	}
	if !paused && history != nil && *history == 0 {
		return v, nil
	}
	said, err := calls.TaskMessages(ctx, t)
	if err != nil {
		return nil, err
	}
	tell(v, said)
	if n := len(v.History); history != nil && n > *history {
		v.History = v.History[n-*history:]
	}
	return v, nil
}

// finish puts a terminal reply into a task: an answer becomes artifacts, a
// failure the message of its status.
func finish(v *a2a.Task, m *beeos.Message) {
	v.Status = a2a.TaskStatus{State: states[task.StatusOfReply(m)], Timestamp: moment(m.CreatedAt)}
	if v.Status.State == a2a.TaskStateCompleted {
		v.Artifacts = artifactsOf(m)
		return
	}
	v.Status.Message = messageOf(m, v.ContextID)
}

// tell puts what was said into a task's history, except what its status or its
// artifacts say.
func tell(v *a2a.Task, all []beeos.Message) {
	for i := range all {
		switch m := &all[i]; m.Type {
		case beeos.ChatMessage, beeos.Continue, beeos.AuthGrant:
			v.History = append(v.History, fromUser(m, v))
		case beeos.AgentInputRequired, beeos.AgentAuthRequired:
			msg := messageOf(m, v.ContextID)
			v.History = append(v.History, msg)
			if v.Status.State == a2a.TaskStateInputRequired || v.Status.State == a2a.TaskStateAuthRequired {
				v.Status.Message, v.Status.Timestamp = msg, moment(m.CreatedAt)
			}
		}
	}
}

// fromUser is a stored message of the caller's.
func fromUser(m *beeos.Message, v *a2a.Task) *a2a.Message {
	msg := messageOf(m, v.ContextID)
	msg.Role, msg.TaskID = a2a.MessageRoleUser, v.ID
	if id, ok := httpd.StringValue(httpd.Field(httpd.Field(m.Payload, "metadata"), invoke.MetaA2AMessage)); ok {
		msg.ID = id
	}
	return msg
}

func moment(t time.Time) *time.Time {
	t = t.UTC().Truncate(time.Millisecond)
	return &t
}
