// Package tasks is the part of the console that shows a person's tasks with all
// agents, whichever surface they were made over: the list (list.go) and the page of
// one, on which it is canceled and what its agent asks is answered.
package tasks

import (
	"embed"
	"html/template"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/invoke"
	"github.com/beeos/beeos/internal/engine/ledger"
	"github.com/beeos/beeos/internal/engine/task"
	"github.com/beeos/beeos/internal/store/agents"
	"github.com/beeos/beeos/internal/surface/web/page"
)

//go:embed templates
var templates embed.FS

// Options is what the room stands on.
type Options struct {
	Pages  *page.Server
	Agents *agents.Table
	Ledger *ledger.Ledger
	Calls  *invoke.Calls

	// What the chat knows: to show a task as what was said, and to answer what is
	// asked in it.
	ShowTurn   func(r *page.Request, a *beeos.Agent, t *task.Task, path string) (template.HTML, error)
	AnswerTurn func(r *page.Request, a *beeos.Agent, t *task.Task, path string) error
}

// Room serves the pages of tasks.
type Room struct{ Options }

// Mount adds the templates and routes to the console.
func Mount(opt Options) error {
	room := &Room{opt}
	show := page.With(room.find, room.showTask)
	room.Pages.Handle("GET /tasks", page.SignedIn, room.showTasks)
	room.Pages.Handle("GET /tasks/live", page.SignedIn, page.Live(room.showTasks))
	room.Pages.Handle("GET /tasks/{task}", page.SignedIn, show)
	room.Pages.Handle("GET /tasks/{task}/live", page.SignedIn, page.Live(show))
	room.Pages.Handle("POST /tasks/{task}/answer", page.SignedIn, page.Form(page.With(room.find, room.answer), show))
	room.Pages.Handle("POST /tasks/{task}/cancel", page.SignedIn, page.Form(page.With(room.find, room.cancel), show))
	room.Pages.Handle("GET /tasks/{task}/{form}", page.SignedIn, page.With(room.find, func(_ *page.Request, t ownTask) (page.Answer, error) { return page.Redirect(t.path(), ""), nil }))
	return room.Pages.AddTemplates(templates)
}

// ownTask is a task of the visitor's, with its agent.
type ownTask struct {
	task.Task
	agent *beeos.Agent
}

func (t *ownTask) path() string { return "/tasks/" + t.Turn }

// find returns the task of the path if the visitor made it. What others made looks
// the same as what does not exist.
func (room *Room) find(r *page.Request) (t ownTask, err error) {
	t.Task, err = room.Calls.Task(r.Context(), r.Caller().Principal(), r.PathValue("task"))
	if beeos.CodeOf(err) == beeos.NotFound {
		return t, beeos.Errorf(beeos.NotFound, "you have no such task; list your tasks to see which you have")
	}
	if err != nil {
		return t, err
	}
	t.agent, err = room.Agents.Get(r.Context(), t.AgentID)
	if beeos.CodeOf(err) == beeos.AgentNotFound { // deleted since
		t.agent, err = &beeos.Agent{ID: t.AgentID, Name: t.AgentID}, nil
	}
	return t, err
}

// taskData is the page of a task.
type taskData struct {
	Row      row
	Own      bool   // the agent is the visitor's, and so is the page of the call
	Chat     string // where its conversation is; empty = it is part of none
	Deadline time.Time
	Open     bool
	Said     template.HTML
}

func (room *Room) showTask(r *page.Request, t ownTask) (page.Answer, error) {
	d := taskData{Row: newRow(&t.Task, page.AgentTitle(t.agent)), Own: t.agent.OwnerID == r.User.ID, Deadline: t.Deadline, Open: t.Done == nil}
	ch, err := room.Ledger.Channel(r.Context(), t.Channel)
	if err != nil {
		return nil, err
	}
	if ch.Kind == beeos.KindConversation {
		d.Chat = "/agents/" + t.AgentID + "/chat/" + ch.ID
	}
	d.Said, err = room.ShowTurn(r, t.agent, &t.Task, t.path())
	view := page.View{Page: "task", Title: "Task of " + d.Row.Agent, Room: "tasks", Here: t.path(), Data: d}
	if d.Open {
		view.Live = t.path() + "/live"
	}
	return view, err
}

// answer answers what the agent asks.
func (room *Room) answer(r *page.Request, t ownTask) (page.Answer, error) {
	return page.Redirect(t.path(), ""), room.AnswerTurn(r, t.agent, &t.Task, t.path())
}

// cancel asks the agent to stop.
func (room *Room) cancel(r *page.Request, t ownTask) (page.Answer, error) {
	return page.Redirect(t.path(), "task-canceled"), room.Calls.Cancel(r.Context(), t.Channel, t.Turn, "canceled in the console")
}
