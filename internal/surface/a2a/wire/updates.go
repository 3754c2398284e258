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
		return append(u.changeState(a2a.TaskStateWorking, nil), u.addText(ev)...)
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
	var all []a2a.Event
	if ev := u.missingText(m.Body); ev != nil {
		all = append(all, ev)
	}
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

// addText adds a piece of text, or replaces it by all there is so far.
func (u *TaskUpdates) addText(ev *beeos.Event) []a2a.Event {
	piece, replace := ev.Text, false
	if ev.SoFar {
		more, goesOn := strings.CutPrefix(ev.Text, string(u.text))
		if piece = more; !goesOn {
			piece, replace = ev.Text, true
		}
	}
	if piece == "" {
		return nil
	}
	return []a2a.Event{u.chunk(piece, replace, false)}
}

// missingText is what the reader does not have yet of the whole text.
func (u *TaskUpdates) missingText(body string) a2a.Event {
	more, goesOn := strings.CutPrefix(body, string(u.text))
	switch {
	case !goesOn:
		return u.chunk(body, true, true)
	case more != "":
		return u.chunk(more, false, true)
	}
	return nil
}

func (u *TaskUpdates) chunk(text string, replace, last bool) a2a.Event {
	ev := &a2a.TaskArtifactUpdateEvent{
		TaskID: u.task.TaskID, ContextID: u.task.ContextID, Append: len(u.text) > 0 && !replace, LastChunk: last,
		Artifact: &a2a.Artifact{ID: textArtifact, Parts: a2a.ContentParts{a2a.NewTextPart(text)}},
	}
	if replace {
		u.text = u.text[:0]
	}
	u.text = append(u.text, text...)
	return ev
}
