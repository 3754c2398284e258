package cli

import (
	"context"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/client"
)

// TasksCmd is about tasks: everything that was asked of agents, by whichever
// surface.
type TasksCmd struct {
	List   TasksListCmd   `cmd:"" help:"List tasks, newest first."`
	Get    TasksGetCmd    `cmd:"" help:"Show one task and its result."`
	Watch  TasksWatchCmd  `cmd:"" help:"Follow a task and print its reply as it comes."`
	Cancel TasksCancelCmd `cmd:"" help:"End a task."`
}

// TasksListCmd lists tasks.
type TasksListCmd struct {
	server
	Agent string `placeholder:"AGENT" help:"Only those with this agent: id, slug or name."`
	State string `enum:"active,closed,all" default:"all" help:"active, closed or all."`
	Limit int    `default:"20" help:"How many."`
	JSON  bool   `help:"Print JSON."`
}

// Run lists tasks.
func (c *TasksListCmd) Run(ctx context.Context, t *terminal) error {
	cl, err := c.client()
	if err != nil {
		return err
	}
	f := client.TaskFilter{State: c.State}
	if c.Agent != "" {
		a, err := cl.Find(ctx, c.Agent)
		if err != nil {
			return err
		}
		f.AgentID = a.ID
	}
	tasks := []client.Task{}
	for task, err := range cl.Tasks(ctx, f) {
		if err != nil {
			return err
		}
		if len(tasks) == c.Limit {
			break
		}
		tasks = append(tasks, task)
	}
	if c.JSON {
		return t.json(tasks)
	}
	rows := make([][]string, len(tasks))
	for i, task := range tasks {
		rows[i] = []string{task.ID, task.AgentID, string(task.Status), ago(task.CreatedAt)}
	}
	return t.table([]string{"TASK", "AGENT", "STATUS", "MADE"}, rows)
}

// oneTask is what the commands about one task have in common.
type oneTask struct {
	server
	Task string `arg:"" help:"Id of the task, as beeos tasks list shows it."`
	JSON bool   `help:"Print JSON."`
}

func (o *oneTask) find(ctx context.Context) (*client.Client, *client.Task, error) {
	cl, err := o.client()
	if err != nil {
		return nil, nil, err
	}
	task, err := cl.FindTask(ctx, o.Task)
	if beeos.CodeOf(err) == beeos.AgentNotFound && err != nil {
		err = hinted{fmt.Errorf("there is no task %q", o.Task), "see which there are with: beeos tasks list"}
	}
	return cl, task, err
}

// TasksGetCmd shows one task.
type TasksGetCmd struct{ oneTask }

// Run shows one task.
func (c *TasksGetCmd) Run(ctx context.Context, t *terminal) error {
	_, task, err := c.find(ctx)
	if err != nil {
		return err
	}
	return t.task(task, c.JSON)
}

// task prints a task.
func (t *terminal) task(task *client.Task, asJSON bool) error {
	if asJSON {
		return t.json(task)
	}
	w := tabwriter.NewWriter(t.out, 0, 8, 2, ' ', 0)
	text := task.Error
	if task.Result != nil {
		text = task.Result.Text
	}
	for _, row := range [][2]string{
		{"Task", task.ID},
		{"Agent", task.AgentID},
		{"Status", string(task.Status)},
		{"Made", ago(task.CreatedAt)},
		{"Took", took(task)},
		{"Result", text},
	} {
		if row[1] != "" {
			fmt.Fprintf(w, "%s\t%s\n", row[0], printable(row[1])) //nolint:errcheck // Flush reports it
		}
	}
	return w.Flush()
}

func took(task *client.Task) string {
	if task.CompletedAt.IsZero() {
		return ""
	}
	return task.CompletedAt.Sub(task.CreatedAt).Round(time.Millisecond).String()
}

// TasksWatchCmd follows one task.
type TasksWatchCmd struct{ oneTask }

// Run prints the reply as it comes, as beeos call does.
func (c *TasksWatchCmd) Run(ctx context.Context, t *terminal) error {
	cl, task, err := c.find(ctx)
	if err != nil {
		return err
	}
	p := &answerPrinter{t: t, quiet: c.JSON}
	for u, err := range cl.WatchTask(ctx, task.AgentID, task.ID) {
		switch m := &u.Message; {
		case err != nil:
			return err
		case u.Delta && u.SoFar:
			p.again(m.Body)
		case u.Delta:
			p.delta(m.Body)
		case m.Type.Terminal():
			return p.done(m.Body, m.IsError(), m)
		case m.Type == beeos.AgentInputRequired, m.Type == beeos.AgentAuthRequired:
			t.note("the agent waits for you: %s", printable(m.Body))
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
func (c *TasksCancelCmd) Run(ctx context.Context, t *terminal) error {
	cl, task, err := c.find(ctx)
	if err != nil {
		return err
	}
	if task, err = cl.CancelTask(ctx, task.AgentID, task.ID, c.Reason); err != nil {
		return err
	}
	if !c.JSON && task.Status != beeos.TaskCanceled {
		t.note("it was %s already", task.Status)
		return nil
	}
	if c.JSON {
		return t.json(task)
	}
	return nil
}
