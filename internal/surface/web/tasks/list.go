package tasks

import (
	"cmp"
	"net/url"
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
	before, ended := r.URL.Query().Get("before"), r.URL.Query().Get("state") == "ended"
	d, view := listData{Ended: ended}, page.View{Page: "tasks", Title: "Tasks", Room: "tasks"}
	at := func(before string) string {
		q := url.Values{}
		if ended {
			q.Set("state", "ended")
		}
		if before != "" {
			q.Set("before", before)
		}
		return "?" + q.Encode()
	}
	if before == "" { // what is older changes little
		view.Live = "/tasks/live" + at("")
	} else {
		d.Newest = "/tasks" + at("")
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
		d.Older = "/tasks" + at(found[perPage-1].Turn)
	}
	titles := map[string]string{}
	for i := range found {
		id := found[i].AgentID
		if titles[id] == "" {
			titles[id] = safetext.Line(id, 60) // of one that is deleted
			if a, err := room.Agents.Get(r.Context(), id); err == nil {
				titles[id] = page.AgentTitle(a)
			}
		}
		d.Rows = append(d.Rows, newRow(&found[i], titles[id]))
	}
	view.Data = d
	return view, nil
}
