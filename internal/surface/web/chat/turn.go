package chat

import (
	"html/template"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/task"
	"github.com/beeos/beeos/internal/surface/web/page"
	"github.com/beeos/beeos/internal/surface/web/transcript"
)

// ShowTurn renders a task of the visitor's as a turn of a conversation, whichever
// surface it was made over: what was asked, and what the agent says and asks so
// far. Its forms post below path.
func (c *Chat) ShowTurn(r *page.Request, a *beeos.Agent, t *task.Task, path string) (html template.HTML, err error) {
	shown, err := c.loadTurn(r, a, t, path)
	if err != nil {
		return "", err
	}
	err = shown.EachTurn(func(u *transcript.Turn) error {
		u.RetryKey = "" // to ask once more is another task
		part, err := c.Pages.RenderPart("chat", "turn", u)
		html += template.HTML(part) //nolint:gosec // made by our templates
		return err
	})
	return html, err
}

// AnswerTurn answers what the agent asks about a task, with what a form of ShowTurn
// says.
func (c *Chat) AnswerTurn(r *page.Request, a *beeos.Agent, t *task.Task, path string) error {
	shown, err := c.loadTurn(r, a, t, path)
	if err != nil {
		return err
	}
	return c.sendAnswer(r, shown, t.Channel)
}

func (c *Chat) loadTurn(r *page.Request, a *beeos.Agent, t *task.Task, path string) (*transcript.Transcript, error) {
	list, err := c.Calls.TaskMessages(r.Context(), t)
	if err != nil {
		return nil, err
	}
	shown := transcript.New(a, path)
	for i := range list {
		shown.AddMessage(&list[i])
	}
	if c.Bus != nil && t.Done == nil {
		if ev, ok := c.Bus.Snapshot(r.Context(), t.Turn); ok {
			ev.Turn = t.Turn
			shown.AddEvent(&ev)
		}
	}
	return shown, c.addFindings(r, a, shown, true)
}
