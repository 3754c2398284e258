package wire

import (
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/task"
)

// TaskUpdates turns what happens to a task into the updates that one reader is
// sent. It knows what it has sent, so nothing is sent twice and nothing is
// missing at the end: deltas may be lost on the way, the reply may not, and it
// holds all of the text.
type TaskUpdates struct {
	task  a2a.TaskInfo
	state a2a.TaskState
	text  []byte // of the text artifact, as the reader has it
}

// UpdatesAfter begins with a task as the reader has it.
func UpdatesAfter(t *a2a.Task) *TaskUpdates {
	return &TaskUpdates{task: t.TaskInfo(), state: t.Status.State}
}

// Translate returns the updates that an event makes.
func (u *TaskUpdates) Translate(ev *beeos.Event) []a2a.Event {
	switch {
	case ev.Kind == beeos.EventMessage:
		return u.translateMessage(ev.Message)
	case ev.Kind == beeos.EventDelta && ev.Text != "":
		all := u.changeState(a2a.TaskStateWorking, nil)
		if ev.SoFar {
			return append(all, u.completeText(ev.Text)...)
		}
		return append(all, u.chunk(ev.Text, false))
	case ev.Kind == beeos.EventDelta, ev.Kind == beeos.EventProgress:
		return u.changeState(a2a.TaskStateWorking, nil)
	}
	return nil
}

// translateMessage tells what is in the log.
func (u *TaskUpdates) translateMessage(m *beeos.Message) []a2a.Event {
	switch m.Type {
	case beeos.AgentInputRequired:
		return u.changeState(a2a.TaskStateInputRequired, m)
	case beeos.AgentAuthRequired:
		return u.changeState(a2a.TaskStateAuthRequired, m)
	case beeos.Continue, beeos.AuthGrant:
		return u.changeState(a2a.TaskStateWorking, nil)
	}
	if !m.Type.Terminal() {
		return nil
	}
	state := states[task.StatusOfReply(m)]
	if state != a2a.TaskStateCompleted {
		return u.changeState(state, m)
	}
	all := u.closeText(m.Body)
	for _, part := range partArtifacts(m) {
		all = append(all, &a2a.TaskArtifactUpdateEvent{TaskID: u.task.TaskID, ContextID: u.task.ContextID, LastChunk: true, Artifact: part})
	}
	done := &a2a.TaskStatusUpdateEvent{TaskID: u.task.TaskID, ContextID: u.task.ContextID, Status: a2a.TaskStatus{State: state, Timestamp: Timestamp(m.CreatedAt)}}
	return append(all, done)
}

// changeState tells that the task stands differently now, and in which words.
func (u *TaskUpdates) changeState(to a2a.TaskState, m *beeos.Message) []a2a.Event {
	if to == u.state && m == nil {
		return nil
	}
	u.state = to
	ev := &a2a.TaskStatusUpdateEvent{TaskID: u.task.TaskID, ContextID: u.task.ContextID, Status: a2a.TaskStatus{State: to}}
	if m != nil {
		ev.Status.Timestamp, ev.Status.Message = Timestamp(m.CreatedAt), messageOf(m, u.task.ContextID)
	}
	return []a2a.Event{ev}
}

// completeText adds what the reader does not have yet of the text, or replaces
// what it has.
func (u *TaskUpdates) completeText(whole string) []a2a.Event {
	more, goesOn := strings.CutPrefix(whole, string(u.text))
	switch {
	case !goesOn:
		return []a2a.Event{u.chunk(whole, true)}
	case more != "":
		return []a2a.Event{u.chunk(more, false)}
	}
	return nil
}

// closeText ends the text with all of it once more. A reader may take chunks
// for a preview and keep nothing but the last one, as google-adk does.
func (u *TaskUpdates) closeText(whole string) []a2a.Event {
	if whole == "" && len(u.text) == 0 {
		return nil
	}
	last := u.chunk(whole, true)
	last.LastChunk = true
	return []a2a.Event{last}
}

func (u *TaskUpdates) chunk(text string, replace bool) *a2a.TaskArtifactUpdateEvent {
	ev := &a2a.TaskArtifactUpdateEvent{
		TaskID: u.task.TaskID, ContextID: u.task.ContextID, Append: len(u.text) > 0 && !replace,
		Artifact: &a2a.Artifact{ID: textArtifact, Parts: a2a.ContentParts{a2a.NewTextPart(text)}},
	}
	if replace {
		u.text = u.text[:0]
	}
	u.text = append(u.text, text...)
	return ev
}
