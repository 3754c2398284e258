package tasks

import (
	"cmp"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/task"
	"github.com/beeos/beeos/internal/surface/web/page"
	"github.com/beeos/beeos/internal/surface/web/safetext"
)

const perPage = 50

// listData is a page of tasks.
type listData struct {
	Rows          []row
	Ended         bool   // those that have ended are shown, else those under way
	Older, Newest string // addresses of other pages; empty = there is none
}

// row is a task in a list, or at the head of a page about it.
type row struct {
	ID, Agent   string
	What        string
	State, Mood string
	At          time.Time
}

// states say how a task stands.
var states = map[beeos.TaskStatus]struct{ words, mood string }{
	beeos.TaskQueued:        {"waiting for the agent", "busy"},
	beeos.TaskRunning:       {"under way", "busy"},
	beeos.TaskInputRequired: {"asks you something", "busy"},
	beeos.TaskAuthRequired:  {"needs your consent", "busy"},
	beeos.TaskCompleted:     {"completed", "good"},
	beeos.TaskFailed:        {"failed", "bad"},
	beeos.TaskCanceled:      {"canceled", ""},
	beeos.TaskTimeout:       {"timed out", "bad"},
	beeos.TaskRejected:      {"refused", "bad"},
}

func newRow(t *task.Task, agentTitle string) row {
	said := states[t.Status]
	return row{
		ID: t.Turn, Agent: agentTitle, What: cmp.Or(safetext.Line(t.Body, 80), safetext.Line(t.Tool, 80), "without words"), State: said.words, Mood: said.mood,
		At: t.Created,
	}
}

func (room *Room) showTasks(r *page.Request) (page.Answer, error) {
	before, ended, state := r.URL.Query().Get("before"), r.URL.Query().Get("state") == "ended", ""
	if ended {
		state = "ended"
	}
	d, view := listData{Ended: ended}, page.View{Page: "tasks", Title: "Tasks", Room: "tasks"}
	if before == "" { // what is older changes little
		view.Live = page.Address("/tasks/live", "state", state)
	} else {
		d.Newest = page.Address("/tasks", "state", state)
	}
	if before != "" && beeos.IDTime(before).IsZero() {
		return nil, beeos.Errorf(beeos.NotFound, "there is no such page of tasks; begin with the newest")
	}
	found, err := room.Calls.Tasks(r.Context(), task.Filter{Caller: r.Caller(), Open: !ended, Closed: ended, Before: before, AtMost: perPage + 1})
	if err != nil {
		return nil, err
	}
	if len(found) > perPage {
		found = found[:perPage]
		d.Older = page.Address("/tasks", "state", state, "before", found[perPage-1].Turn)
	}
	titles := page.NameAgents(func(id string) (*beeos.Agent, error) { return room.Agents.Get(r.Context(), id) })
	for i := range found {
		d.Rows = append(d.Rows, newRow(&found[i], titles(found[i].AgentID)))
	}
	view.Data = d
	return view, nil
}
