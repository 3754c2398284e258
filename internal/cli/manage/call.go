package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/client"
)

// CallCmd asks an agent.
type CallCmd struct {
	server
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
func (c *CallCmd) Run(ctx context.Context, t *terminal) error {
	cl, err := c.client()
	if err != nil {
		return err
	}
	if c.Message == "-" {
		b, err := io.ReadAll(io.LimitReader(t.in, 1<<20))
		if err != nil {
			return fmt.Errorf("read stdin: %w", err)
		}
		c.Message = string(b)
	}
	a, err := cl.Find(ctx, c.Agent)
	if err != nil {
		return err
	}
	files, err := c.upload(ctx, cl)
	if err != nil {
		return err
	}
	answer := &answerPrinter{t: t, quiet: c.JSON}
	answer.waiting(a.Name)
	switch {
	case c.Tool != "":
		err = c.callTool(ctx, cl, a, files, answer)
	case c.Via == "mcp":
		err = c.talkMCP(ctx, cl, a, files, answer)
	case c.Via == "a2a":
		err = c.talkA2A(ctx, cl, a, files, answer)
	default:
		err = c.talk(ctx, cl, a, files, answer)
	}
	answer.clear()
	return offline(err, a)
}

// talk streams the agent's answer.
func (c *CallCmd) talk(ctx context.Context, cl *client.Client, a *client.Agent, files []client.Attachment, p *answerPrinter) error {
	req := client.InvokeRequest{
		Message: c.Message, ContextID: c.Context, TimeoutMS: c.Timeout.Milliseconds(), IdempotencyKey: c.Once, Attachments: files,
	}
	for ev, err := range cl.Stream(ctx, a.ID, req) {
		switch {
		case err != nil:
			return err
		case ev.Done != nil:
			return p.done(ev.Done.Text, ev.Done.IsError, struct {
				AgentID string `json:"agent_id"`
				*client.Answer
			}{a.ID, ev.Done})
		default:
			p.reasoning(ev.Reasoning)
			p.delta(ev.Delta)
		}
	}
	return nil
}

// talkMCP calls the tool that an agent is itself: it has the agent's id for a
// name and takes a message.
func (c *CallCmd) talkMCP(ctx context.Context, cl *client.Client, a *client.Agent, files []client.Attachment, p *answerPrinter) error {
	args, err := json.Marshal(struct {
		Message string `json:"message"`
		Context string `json:"context_id,omitempty"`
		Once    string `json:"idempotency_key,omitempty"`
	}{c.Message, c.Context, c.Once})
	if err != nil {
		return err
	}
	c.Tool, c.Args = a.ID, string(args)
	err = c.callTool(ctx, cl, a, files, p)
	if h, ok := errors.AsType[hinted](err); ok {
		return hinted{h.error, "this agent has tools of its own; call one with: beeos call " + a.Slug + " --tool NAME --args JSON"}
	}
	return err
}

// talkA2A streams the answer as an A2A client would.
func (c *CallCmd) talkA2A(ctx context.Context, cl *client.Client, a *client.Agent, files []client.Attachment, p *answerPrinter) error {
	if c.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.Timeout)
		defer cancel()
	}
	req := client.InvokeRequest{Message: c.Message, ContextID: c.Context, IdempotencyKey: c.Once, Attachments: files}
	for ev, err := range cl.StreamA2A(ctx, a, req) {
		switch {
		case err != nil:
			return err
		case ev.Done != nil:
			return p.done(ev.Done.Text, ev.Done.IsError, struct {
				AgentID string `json:"agent_id"`
				*client.Answer
			}{a.ID, ev.Done})
		default:
			p.delta(ev.Delta)
		}
	}
	return nil
}

func (c *CallCmd) callTool(ctx context.Context, cl *client.Client, a *client.Agent, files []client.Attachment, p *answerPrinter) error {
	args, err := withFiles(json.RawMessage(c.Args), files)
	if err != nil {
		return err
	}
	if c.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.Timeout)
		defer cancel()
	}
	r, err := cl.CallTool(ctx, a, c.Tool, args)
	if beeos.CodeOf(err) == beeos.NotFound {
		return hinted{fmt.Errorf("agent %q has no tool %q", a.Name, c.Tool), "see which it has with: beeos agent show " + a.Slug}
	}
	if err != nil {
		return err
	}
	return p.done(r.Text(), r.IsError, r)
}

// offline says which agent is missing and how it might come back.
func offline(err error, a *client.Agent) error {
	switch beeos.CodeOf(err) {
	case beeos.AgentOffline, beeos.AgentServiceUnavailable:
		if err != nil && !a.Online {
			return hinted{fmt.Errorf("agent %q is offline", a.Name), "start it with: beeos agent run ./" + a.Slug}
		}
	}
	return err
}

// answerPrinter prints an answer as it comes: text to stdout, thoughts to
// stderr, and a sign of life to a person until the first of either.
type answerPrinter struct {
	t       *terminal
	quiet   bool // only the final JSON is wanted
	shown   strings.Builder
	thought bool
	hint    bool
}

func (p *answerPrinter) waiting(name string) {
	if p.t.person && !p.quiet {
		p.hint = true
		fmt.Fprintf(p.t.err, "\x1b[2m%s is thinking …\x1b[0m", printable(name)) //nolint:errcheck // only for the looks
	}
}

// clear takes the sign of life away.
func (p *answerPrinter) clear() {
	if p.hint {
		p.hint = false
		fmt.Fprint(p.t.err, "\r\x1b[K") //nolint:errcheck // only for the looks
	}
}

func (p *answerPrinter) reasoning(text string) {
	if text == "" || p.quiet {
		return
	}
	p.clear()
	p.thought = true
	fmt.Fprint(p.t.err, text) //nolint:errcheck // the answer is what counts
}

func (p *answerPrinter) delta(text string) {
	if text == "" || p.quiet {
		return
	}
	p.clear()
	if p.thought {
		p.thought = false
		fmt.Fprintln(p.t.err) //nolint:errcheck // the answer is what counts
	}
	p.shown.WriteString(text)
	fmt.Fprint(p.t.out, text) //nolint:errcheck // done reports it
}

// again takes the whole text so far, of which some may have been shown.
func (p *answerPrinter) again(text string) {
	if rest, ok := strings.CutPrefix(text, p.shown.String()); ok {
		p.delta(rest)
	}
}

// done prints what the deltas have not shown yet. The whole text is the
// truth; deltas may have got lost on the way.
func (p *answerPrinter) done(text string, isError bool, whole any) error {
	p.clear()
	var failed error
	if isError {
		failed = errAgent
	}
	if p.quiet {
		return errors.Join(p.t.json(whole), failed)
	}
	rest, ok := strings.CutPrefix(text, p.shown.String())
	switch {
	case isError && p.shown.Len() == 0:
		p.t.say("the agent failed: %s", text)
		return failed
	case !ok:
		rest = "\n" + text
	}
	_, err := fmt.Fprintln(p.t.out, rest)
	return errors.Join(err, failed)
}
