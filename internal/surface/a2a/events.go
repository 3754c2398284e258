package a2a

import (
	"fmt"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/task"
)

// narrator tells one reader what happens to a task. It knows what it has told,
// so nothing is told twice and nothing is missing at the end: deltas may be
// lost on the way, the reply may not, and it holds all of the text.
type narrator struct {
	task  a2a.TaskInfo
	state a2a.TaskState
	text  []byte // of the text artifact, as the reader has it
}

func (n *narrator) tell(ev *beeos.Event) []a2a.Event {
	switch {
	case ev.Kind == beeos.EventMessage:
		return n.message(ev.Message)
	case ev.Kind == beeos.EventDelta && ev.Text != "":
		return append(n.turn(a2a.TaskStateWorking, nil), n.delta(ev)...)
	case ev.Kind == beeos.EventDelta, ev.Kind == beeos.EventProgress:
		return n.turn(a2a.TaskStateWorking, nil)
	}
	return nil
}

// message tells what is in the log.
func (n *narrator) message(m *beeos.Message) []a2a.Event {
	switch m.Type {
	case beeos.AgentInputRequired:
		return n.turn(a2a.TaskStateInputRequired, m)
	case beeos.AgentAuthRequired:
		return n.turn(a2a.TaskStateAuthRequired, m)
	case beeos.Continue, beeos.AuthGrant:
		return n.turn(a2a.TaskStateWorking, nil)
	}
	if !m.Type.Terminal() {
		return nil
	}
	var all []a2a.Event
	state := states[task.StatusOfReply(m)]
	if state != a2a.TaskStateCompleted {
		return n.turn(state, m)
	}
	if ev := n.rest(m.Body); ev != nil {
		all = append(all, ev)
	}
	for i, p := range partsOf(m) {
		all = append(all, &a2a.TaskArtifactUpdateEvent{TaskID: n.task.TaskID, ContextID: n.task.ContextID, LastChunk: true, Artifact: &a2a.Artifact{
			ID: a2a.ArtifactID(fmt.Sprintf("part-%d", i+1)), Name: p.Filename, Parts: a2a.ContentParts{p},
		}})
	}
	done := &a2a.TaskStatusUpdateEvent{TaskID: n.task.TaskID, ContextID: n.task.ContextID, Status: a2a.TaskStatus{State: state, Timestamp: moment(m.CreatedAt)}}
	return append(all, done)
}

// turn tells that the task stands differently now, and in which words.
func (n *narrator) turn(to a2a.TaskState, m *beeos.Message) []a2a.Event {
	if to == n.state && m == nil || to == a2a.TaskStateWorking && m == nil && n.state == to {
		return nil
	}
	n.state = to
	ev := &a2a.TaskStatusUpdateEvent{TaskID: n.task.TaskID, ContextID: n.task.ContextID, Status: a2a.TaskStatus{State: to}}
	if m != nil {
		ev.Status.Timestamp, ev.Status.Message = moment(m.CreatedAt), messageOf(m, n.task.ContextID)
	}
	return []a2a.Event{ev}
}

// delta adds a piece of text, or replaces it by all there is so far.
func (n *narrator) delta(ev *beeos.Event) []a2a.Event {
	piece, replace := ev.Text, false
	if ev.SoFar {
		more, goesOn := strings.CutPrefix(ev.Text, string(n.text))
		if piece = more; !goesOn {
			piece, replace = ev.Text, true
		}
	}
	if piece == "" {
		return nil
	}
	return []a2a.Event{n.chunk(piece, replace, false)}
}

// rest is what the reader does not have yet of the whole text.
func (n *narrator) rest(body string) a2a.Event {
	more, goesOn := strings.CutPrefix(body, string(n.text))
	switch {
	case !goesOn:
		return n.chunk(body, true, true)
	case more != "":
		return n.chunk(more, false, true)
	}
	return nil
}

func (n *narrator) chunk(text string, replace, last bool) a2a.Event {
	ev := &a2a.TaskArtifactUpdateEvent{
		TaskID: n.task.TaskID, ContextID: n.task.ContextID, Append: len(n.text) > 0 && !replace, LastChunk: last,
		Artifact: &a2a.Artifact{ID: textArtifact, Parts: a2a.ContentParts{a2a.NewTextPart(text)}},
	}
	if replace {
		n.text = n.text[:0]
	}
	n.text = append(n.text, text...)
	return ev
}
