package talk

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/internal/cli/remote"
	"github.com/beeos/beeos/internal/cli/terminal"
)

// LogsCmd prints the latest calls of the key's user.
type LogsCmd struct {
	remote.Server
	Agent  string `arg:"" optional:"" help:"Only those to this agent: id, slug or name."`
	Follow bool   `short:"f" help:"Go on until Ctrl-C: calls that come, and how they end."`
	Limit  int    `default:"20" help:"How many to begin with, at most 200."`
}

// lookForCallsEvery is how often --follow asks for news.
const lookForCallsEvery = time.Second

// Run prints a line per call, the oldest first.
func (c *LogsCmd) Run(ctx context.Context, t *terminal.Terminal, cl *client.Client) error {
	f := client.TaskFilter{State: "all"}
	if c.Agent != "" {
		a, err := cl.Find(ctx, c.Agent)
		if err != nil {
			return err
		}
		f.AgentID = a.ID
	}
	names, err := nameAgents(ctx, cl)
	if err != nil {
		return err
	}
	log := &callLog{terminal: t, names: names, told: map[string]beeos.TaskStatus{}}
	for {
		list, err := latestTasks(ctx, cl, f, min(max(c.Limit, 1), 200))
		if err != nil {
			return endedByPerson(ctx, err)
		}
		if err := log.print(list); err != nil || !c.Follow {
			return err
		}
		select {
		case <-time.After(lookForCallsEvery):
		case <-ctx.Done():
			return nil
		}
	}
}

// endedByPerson leaves out the error of what Ctrl-C ended.
func endedByPerson(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// latestTasks returns the newest tasks, the oldest of them first.
func latestTasks(ctx context.Context, cl *client.Client, f client.TaskFilter, limit int) (list []client.Task, err error) {
	for task, err := range cl.Tasks(ctx, f) {
		if err != nil {
			return nil, err
		}
		if list = append(list, task); len(list) == limit {
			break
		}
	}
	slices.Reverse(list)
	return list, nil
}

// callLog prints calls, each once per state.
type callLog struct {
	terminal *terminal.Terminal
	names    agentNames
	told     map[string]beeos.TaskStatus
}

func (l *callLog) print(list []client.Task) error {
	told := map[string]beeos.TaskStatus{} // what has left the list is not asked about again
	for i := range list {
		task := &list[i]
		if told[task.ID] = task.Status; l.told[task.ID] == task.Status {
			continue
		}
		took := ""
		if !task.CompletedAt.IsZero() {
			took = task.CompletedAt.Sub(task.CreatedAt).Round(time.Millisecond).String()
		}
		line := fmt.Sprintf("%s  %-20s  %-14s  %8s  %s", task.CreatedAt.Local().Format(time.DateTime),
			terminal.Shorten(terminal.Printable(l.names.of(task.AgentID)), 20), task.Status, took, task.ID)
		if err := l.terminal.PrintLine(line); err != nil {
			return err
		}
	}
	l.told = told
	return nil
}
