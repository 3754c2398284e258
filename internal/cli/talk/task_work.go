package talk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/internal/cli/remote"
	"github.com/beeos/beeos/internal/cli/terminal"
)

// TasksCreateCmd gives an agent work.
type TasksCreateCmd struct {
	remote.Server
	Agent    string        `arg:"" help:"Id, slug or name of the agent."`
	Message  string        `arg:"" help:"What to do; - reads it from stdin."`
	Context  string        `placeholder:"ID" help:"Continue the conversation of an earlier task (tasks get --json shows it)."`
	Deadline time.Duration `placeholder:"DURATION" help:"When the task ends at the latest, whether or not it has an answer. Default: a day; at most 168h."`
	Once     string        `placeholder:"KEY" help:"Idempotency key: creating with it again returns the first task."`
	JSON     bool          `help:"Print JSON."`
}

// Run prints the id of the task.
func (c *TasksCreateCmd) Run(ctx context.Context, t *terminal.Terminal, cl *client.Client) error {
	message, err := readMessage(t, c.Message)
	if err != nil {
		return err
	}
	a, err := cl.Find(ctx, c.Agent)
	if err != nil {
		return err
	}
	task, err := cl.CreateTask(ctx, a.ID, client.TaskRequest{
		Message: message, ContextID: c.Context, DeadlineMS: c.Deadline.Milliseconds(), IdempotencyKey: c.Once,
	})
	if err != nil {
		return hintOffline(err, a)
	}
	if !c.JSON {
		t.Note("follow it with: beeos tasks watch %s", task.ID)
	}
	return t.PrintEither(c.JSON, task, task.ID)
}

// readMessage returns what somebody wants to say; - stands for stdin.
func readMessage(t *terminal.Terminal, given string) (string, error) {
	if given != "-" {
		return given, nil
	}
	b, err := io.ReadAll(io.LimitReader(t.In, 1<<20))
	if err != nil {
		return "", fmt.Errorf("read stdin: %w", err)
	}
	return string(b), nil
}

// TasksContinueCmd answers an agent that waits.
type TasksContinueCmd struct {
	oneTask
	Input  string `arg:"" optional:"" help:"What the agent asked for; - reads it from stdin."`
	Object string `placeholder:"JSON" help:"The same as JSON, for an agent that asked with a form."`
	Grant  bool   `help:"Consent to what the agent asked consent for."`
	Deny   bool   `help:"Deny it."`
}

// Validate is called by kong: what it finds is a matter of usage.
func (c *TasksContinueCmd) Validate() error {
	ways := 0
	for _, given := range []bool{c.Input != "", c.Object != "", c.Grant, c.Deny} {
		if given {
			ways++
		}
	}
	switch {
	case ways != 1:
		return errors.New("give one of: an answer, --object, --grant and --deny")
	case c.Object != "" && !json.Valid([]byte(c.Object)):
		return errors.New("--object is not JSON")
	}
	return nil
}

// Run gives the answer.
func (c *TasksContinueCmd) Run(ctx context.Context, t *terminal.Terminal, cl *client.Client, task *client.Task) error {
	task, err := c.continueTask(ctx, t, cl, task)
	switch {
	case err != nil:
		return err
	case c.JSON:
		return t.PrintJSON(task)
	}
	t.Note("the agent continues; follow it with: beeos tasks watch %s", task.ID)
	return nil
}

func (c *TasksContinueCmd) continueTask(ctx context.Context, t *terminal.Terminal, cl *client.Client, task *client.Task) (*client.Task, error) {
	switch {
	case c.Grant || c.Deny:
		return cl.GrantTask(ctx, task.AgentID, task.ID, c.Grant)
	case c.Object != "":
		return cl.ContinueTask(ctx, task.AgentID, task.ID, json.RawMessage(c.Object))
	}
	input, err := readMessage(t, c.Input)
	if err != nil {
		return nil, err
	}
	return cl.ContinueTask(ctx, task.AgentID, task.ID, input)
}

// hintContinue says how to answer an agent that waits.
func hintContinue(taskID string, asked beeos.MessageType) string {
	if asked == beeos.AgentAuthRequired {
		return "consent with: beeos tasks continue " + taskID + " --grant, or --deny"
	}
	return "answer with: beeos tasks continue " + taskID + ` "..."`
}
