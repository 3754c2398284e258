package talk

import (
	"context"
	"fmt"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/internal/cli/remote"
	"github.com/beeos/beeos/internal/cli/terminal"
)

// TasksCmd is about tasks: everything that was asked of agents, by whichever
// surface.
type TasksCmd struct {
	List     TasksListCmd     `cmd:"" help:"List tasks, newest first."`
	Create   TasksCreateCmd   `cmd:"" help:"Give an agent work and print the id of the task, without waiting."`
	Get      TasksGetCmd      `cmd:"" help:"Show one task and its result."`
	Watch    TasksWatchCmd    `cmd:"" help:"Follow a task and print its reply as it comes."`
	Continue TasksContinueCmd `cmd:"" help:"Give an agent that waits for you what it asked for."`
	Cancel   TasksCancelCmd   `cmd:"" help:"End a task."`
}

// TasksListCmd lists tasks.
type TasksListCmd struct {
	remote.Server
	Agent string `placeholder:"AGENT" help:"Only those with this agent: id, slug or name."`
	State string `enum:"active,closed,all" default:"all" help:"active, closed or all."`
	Limit int    `default:"20" help:"How many."`
	JSON  bool   `help:"Print JSON."`
}

// Run lists tasks.
func (c *TasksListCmd) Run(ctx context.Context, t *terminal.Terminal, cl *client.Client) error {
	f := client.TaskFilter{State: c.State}
	if c.Agent != "" {
		a, err := cl.Find(ctx, c.Agent)
		if err != nil {
			return err
		}
		f.AgentID = a.ID
	}
	var tasks []client.Task
	for task, err := range cl.Tasks(ctx, f) {
		if err != nil {
			return err
		}
		if len(tasks) == c.Limit {
			break
		}
		tasks = append(tasks, task)
	}
	names, err := nameAgents(ctx, cl)
	if err != nil {
		return err
	}
	return terminal.PrintList(t, c.JSON, tasks, "TASK AGENT STATUS MADE", func(task *client.Task) []string {
		return []string{task.ID, names.of(task.AgentID), string(task.Status), terminal.Ago(task.CreatedAt)}
	})
}

// oneTask is what the commands about one task have in common.
type oneTask struct {
	remote.Server
	Task string `arg:"" help:"Id of the task, as beeos tasks list shows it."`
	JSON bool   `help:"Print JSON."`
}

// ProvideTask finds the task for each Run that takes one.
func (o *oneTask) ProvideTask(ctx context.Context) (*client.Task, error) {
	cl, err := o.ProvideClient()
	if err != nil {
		return nil, err
	}
	task, err := cl.FindTask(ctx, o.Task)
	return task, terminal.HintOn(beeos.AgentNotFound, err, fmt.Sprintf("there is no task %q", o.Task), "see which there are with: beeos tasks list")
}

// TasksGetCmd shows one task.
type TasksGetCmd struct{ oneTask }

// Run shows one task.
func (c *TasksGetCmd) Run(ctx context.Context, t *terminal.Terminal, cl *client.Client, task *client.Task) error {
	if c.JSON {
		return t.PrintJSON(task)
	}
	names, err := nameAgents(ctx, cl)
	if err != nil {
		return err
	}
	text, took, question := task.Error, "", ""
	if q := task.Question; q != nil {
		question = q.Text
		defer t.Note("%s", hintContinue(task.ID, q.Type))
	}
	if task.Result != nil {
		text = task.Result.Text
	}
	if !task.CompletedAt.IsZero() {
		took = task.CompletedAt.Sub(task.CreatedAt).Round(time.Millisecond).String()
	}
	return t.PrintFields([][]string{
		{"Task", task.ID},
		{"Agent", names.of(task.AgentID)},
		{"Status", string(task.Status)},
		{"Made", terminal.Ago(task.CreatedAt)},
		{"Took", took},
		{"Question", question},
		{"Result", text},
	})
}

// TasksWatchCmd follows one task.
type TasksWatchCmd struct{ oneTask }

// Run prints the reply as it comes, as beeos call does.
func (c *TasksWatchCmd) Run(ctx context.Context, t *terminal.Terminal, cl *client.Client, task *client.Task) error {
	return followTask(ctx, t, cl, task, c.JSON)
}

// followTask prints the reply to a task as it comes.
func followTask(ctx context.Context, t *terminal.Terminal, cl *client.Client, task *client.Task, asJSON bool) error {
	p := &answerPrinter{t: t, quiet: asJSON}
	for u, err := range cl.WatchTask(ctx, task.AgentID, task.ID) {
		switch m := &u.Message; {
		case err != nil:
			return err
		case u.Delta && u.SoFar:
			p.printSoFar(m.Body)
		case u.Delta:
			p.printDelta(m.Body)
		case m.Type.Terminal():
			return p.finish(m.Body, m.IsError(), (&client.Answer{Parts: m.Parts}).Files(), m)
		case m.Type == beeos.AgentInputRequired, m.Type == beeos.AgentAuthRequired:
			t.Note("the agent waits for you: %s\n%s", terminal.Printable(m.Body), hintContinue(task.ID, m.Type))
		}
	}
	return nil
}

// TasksCancelCmd ends a task.
type TasksCancelCmd struct {
	oneTask
	Reason string `help:"Why, for the agent."`
}

// Run ends a task. That it had ended before is no failure.
func (c *TasksCancelCmd) Run(ctx context.Context, t *terminal.Terminal, cl *client.Client, task *client.Task) error {
	task, err := cl.CancelTask(ctx, task.AgentID, task.ID, c.Reason)
	switch {
	case err != nil:
		return err
	case c.JSON:
		return t.PrintJSON(task)
	case task.Status != beeos.TaskCanceled:
		t.Note("it was %s already", task.Status)
	default:
		t.Note("cancelled")
	}
	return nil
}
