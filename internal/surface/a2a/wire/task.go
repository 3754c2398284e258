package wire

import (
	"cmp"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/invoke"
	"github.com/beeos/beeos/internal/engine/task"
	"github.com/beeos/beeos/internal/wire/strictjson"
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

// ReadState takes a state in the words of any dialect; several of ours may be
// one of A2A's.
func ReadState(given string) ([]beeos.TaskStatus, error) {
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

// ContextOf is a task's context: the client's own name for it, or the channel.
func ContextOf(metadata map[string]string, channel string) string {
	return cmp.Or(metadata[invoke.MetaA2AContext], channel)
}

// TaskOf is a task without what was said in it.
func TaskOf(t *task.Task) *a2a.Task {
	return &a2a.Task{
		ID: a2a.TaskID(t.Turn), ContextID: ContextOf(t.Metadata, t.Channel),
		Status: a2a.TaskStatus{State: states[t.Status], Timestamp: Timestamp(t.Created)},
	}
}

// FinishTask puts a terminal reply into a task: an answer becomes artifacts, a
// failure the message of its status.
func FinishTask(v *a2a.Task, m *beeos.Message) {
	v.Status = a2a.TaskStatus{State: states[task.StatusOfReply(m)], Timestamp: Timestamp(m.CreatedAt)}
	if v.Status.State == a2a.TaskStateCompleted {
		v.Artifacts = artifactsOf(m)
		return
	}
	v.Status.Message = messageOf(m, v.ContextID)
}

// AddHistory puts what was said into a task's history, except what its status
// or its artifacts say.
func AddHistory(v *a2a.Task, all []beeos.Message) {
	for i := range all {
		m := &all[i]
		fromUser := m.Type == beeos.ChatMessage || m.Type == beeos.Continue || m.Type == beeos.AuthGrant
		if !fromUser && m.Type != beeos.AgentInputRequired && m.Type != beeos.AgentAuthRequired {
			continue
		}
		msg := messageOf(m, v.ContextID)
		if fromUser {
			msg.Role, msg.TaskID = a2a.MessageRoleUser, v.ID
			msg.ID = cmp.Or(textField(strictjson.Field(m.Payload, "metadata"), invoke.MetaA2AMessage), msg.ID)
		} else if v.Status.State == a2a.TaskStateInputRequired || v.Status.State == a2a.TaskStateAuthRequired {
			v.Status.Message, v.Status.Timestamp = msg, Timestamp(m.CreatedAt)
		}
		v.History = append(v.History, msg)
	}
}

// Timestamp is a time in the precision of the protocol.
func Timestamp(t time.Time) *time.Time {
	t = t.UTC().Truncate(time.Millisecond)
	return &t
}
