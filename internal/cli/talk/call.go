// Package talk holds the commands of people who use agents: calls, tasks,
// conversations, their files and webhooks, the approvals that wait, and the log
// of what was called.
package talk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/internal/cli/remote"
	"github.com/beeos/beeos/internal/cli/terminal"
)

// CallCmd asks an agent.
type CallCmd struct {
	remote.Server
	Agent   string        `arg:"" help:"Id, slug or name of the agent."`
	Message string        `arg:"" optional:"" help:"What to say; - reads it from stdin."`
	Context string        `placeholder:"ID" help:"Continue the conversation that an earlier answer named (--json shows it)."`
	Timeout time.Duration `help:"How long to wait; 0 is the agent's own. At most 115s."`
	Once    string        `placeholder:"KEY" help:"Idempotency key: asking again with it returns the first answer."`
	Tool    string        `placeholder:"NAME" help:"Call a tool of the agent instead of talking to it."`
	Args    string        `default:"{}" placeholder:"JSON" help:"Arguments of the tool."`
	Via     string        `enum:"rest,mcp,a2a" default:"rest" help:"Surface to talk over: rest, mcp or a2a. The reply is the same."`
	File    []string      `placeholder:"PATH" type:"existingfile" sep:"none" help:"Send a file along; may be repeated."`
	JSON    bool          `help:"Print the whole answer as JSON."`
}

// Validate is called by kong: what it finds is a matter of usage.
func (c *CallCmd) Validate() error {
	switch {
	case c.Tool == "" && c.Message == "":
		return errors.New("nothing to say: give a message, or - to read it from stdin")
	case !json.Valid([]byte(c.Args)):
		return errors.New("--args is not JSON")
	case c.Tool != "" && len(c.File) > 0 && !strings.HasPrefix(strings.TrimSpace(c.Args), "{"):
		return errors.New("--args must be a JSON object to send files along")
	}
	return nil
}

// Run asks and prints.
func (c *CallCmd) Run(ctx context.Context, t *terminal.Terminal, cl *client.Client) error {
	var err error
	if c.Message, err = readMessage(t, c.Message); err != nil {
		return err
	}
	a, err := cl.Find(ctx, c.Agent)
	if err != nil {
		return err
	}
	var files []client.Attachment
	for _, path := range c.File {
		f, err := uploadFile(ctx, cl, path)
		if err != nil {
			return err
		}
		files = append(files, client.Attachment{FileID: f.FileID})
	}
	p := &answerPrinter{t: t, quiet: c.JSON}
	p.showWaiting(a.Name)
	err = tellApprovals(ctx, cl, a, p, func(ctx context.Context) error { return c.ask(ctx, cl, a, files, p) })
	p.clearWaiting()
	return hintOffline(err, a)
}

// ask talks to the agent over the surface that was chosen, or calls its tool.
func (c *CallCmd) ask(ctx context.Context, cl *client.Client, a *client.Agent, files []client.Attachment, p *answerPrinter) error {
	r := client.InvokeRequest{
		Message: c.Message, ContextID: c.Context, TimeoutMS: c.Timeout.Milliseconds(), IdempotencyKey: c.Once, Attachments: files,
	}
	if c.Tool == "" && c.Via == "rest" {
		return printAnswer(p, a, cl.Stream(ctx, a.ID, r))
	}
	if c.Timeout > 0 { // which only REST tells the server
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.Timeout)
		defer cancel()
	}
	if c.Tool == "" && c.Via == "a2a" {
		return printAnswer(p, a, cl.StreamA2A(ctx, a, r))
	}
	return c.callTool(ctx, cl, a, files, p)
}

// printAnswer prints a streamed answer as it comes.
func printAnswer(p *answerPrinter, a *client.Agent, events iter.Seq2[client.Event, error]) error {
	for ev, err := range events {
		switch {
		case err != nil:
			return err
		case ev.Done != nil:
			return p.finish(ev.Done.Text, ev.Done.IsError, ev.Done.Files(), struct {
				AgentID string `json:"agent_id"`
				*client.Answer
			}{a.ID, ev.Done})
		default:
			p.printReasoning(ev.Reasoning)
			p.printDelta(ev.Delta)
		}
	}
	return nil
}

// callTool calls the tool that was named. Without a name it calls the tool
// that an agent is itself: it has the agent's id for a name and takes a message.
func (c *CallCmd) callTool(ctx context.Context, cl *client.Client, a *client.Agent, files []client.Attachment, p *answerPrinter) error {
	tool, args, hint := c.Tool, json.RawMessage(c.Args), "see which it has with: beeos agent show "+a.Slug
	if tool == "" {
		tool, hint = a.ID, "this agent has tools of its own; call one with: beeos call "+a.Slug+" --tool NAME --args JSON"
		var err error
		if args, err = json.Marshal(struct {
			Message string `json:"message"`
			Context string `json:"context_id,omitempty"`
			Once    string `json:"idempotency_key,omitempty"`
		}{c.Message, c.Context, c.Once}); err != nil {
			return err
		}
	}
	args, err := addFiles(args, files)
	if err != nil {
		return err
	}
	r, err := cl.CallTool(ctx, a, tool, args)
	if err != nil {
		return terminal.HintOn(beeos.NotFound, err, fmt.Sprintf("agent %q has no tool %q", a.Name, tool), hint)
	}
	return p.finish(r.Text(), r.IsError, r.Files(), r)
}

// addFiles puts attachments among the arguments of a tool, where MCP has them.
func addFiles(args json.RawMessage, files []client.Attachment) (json.RawMessage, error) {
	if len(files) == 0 {
		return args, nil
	}
	var object map[string]json.RawMessage // numbers stay as they were typed
	if err := json.Unmarshal(args, &object); err != nil {
		return nil, fmt.Errorf("read --args: %w", err)
	}
	list, err := json.Marshal(files)
	if err != nil {
		return nil, fmt.Errorf("encode the attachments: %w", err)
	}
	object["attachments"] = list
	return json.Marshal(object)
}

// hintOffline says which agent is missing and how it might come back.
func hintOffline(err error, a *client.Agent) error {
	code := beeos.CodeOf(err)
	if !a.Online && (code == beeos.AgentOffline || code == beeos.AgentServiceUnavailable) {
		return terminal.Hint(fmt.Sprintf("agent %q is offline", a.Name), "start it with: beeos agent run ./"+a.Slug)
	}
	return err
}
