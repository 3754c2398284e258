package call

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/surface/mcp/catalog"
	"github.com/beeos/beeos/internal/surface/mcp/wire"
	"github.com/beeos/beeos/internal/wire/httpd"
	"github.com/beeos/beeos/internal/wire/schema"
	"github.com/beeos/beeos/internal/wire/strictjson"
)

// CallTool answers tools/call. All that a call needs is made ready by functions
// that have returned, with their frames, before it waits.
func (x *Client) CallTool(ctx context.Context, m *wire.Message) ([]byte, error) {
	c, result, err := x.toolCall(ctx, m)
	if c != nil {
		result, err = x.toolOutcome(c.runToEnd(ctx))
	}
	if err != nil {
		return x.tellModel(err)
	}
	return result, nil
}

// tellModel makes a result of an error that is for a model to read.
//
//go:noinline
func (x *Client) tellModel(err error) ([]byte, error) { // on no stack that waits
	told, ok := errors.AsType[modelError](err)
	if !ok {
		return nil, err
	}
	httpd.CountRefusal(x.HTTP, err)
	x.ToolFailed = true
	return wire.ErrorResult(string(told)), nil
}

// modelError is the cause of an error for a model to read and correct, and so
// the text of a result.
type modelError string

func (e modelError) Error() string { return string(e) }

func newModelError(text string) error {
	return beeos.Wrap(beeos.InvalidParam, modelError(text), text)
}

// toolCall makes a tools/call ready to run, or answers it.
func (x *Client) toolCall(ctx context.Context, m *wire.Message) (*activeCall, []byte, error) {
	name, given, err := toolParams(m.Params)
	if err != nil {
		return nil, nil, err
	}
	listed := x.Lists.ToolByName[name]
	if listed == nil {
		return nil, nil, wire.ToolNotFound(name)
	}
	// Headers repeat the arguments of the tool that is named, whatever it calls.
	if x.Version.Stateless() {
		if err := wire.CheckParamHeaders(x.HTTP.Header, listed.Bindings, given); err != nil {
			return nil, nil, err
		}
	}
	t, given, err := x.resolveCallTool(listed, given)
	switch {
	case err != nil:
		return nil, nil, err
	case t.IsMeta:
		result, err := x.Lists.SearchTools(given)
		return nil, result, err
	case t.IsFetch:
		c, err := x.fetchTask(ctx, m, t, given)
		return c, nil, err
	}
	if t.Agent != nil {
		x.Agent = t.Agent
	}
	c := &activeCall{x: x, m: m}
	if err := c.fillRequest(t, given); err != nil {
		return nil, nil, err
	}
	needsTask := x.Version.Stateless() && t.TaskSupport == catalog.TaskRequired
	if needsTask && !x.Can.Has(wire.CanTasks) {
		return nil, nil, wire.MissingCapability(wire.CanTasks)
	}
	if err := c.prepareRequest(); err != nil {
		return nil, nil, err
	}
	if needsTask {
		result, err := c.startTask(ctx)
		return nil, result, err
	}
	return c, nil, nil
}

// fillRequest puts into the request what the client gave, if it fits the tool.
func (c *activeCall) fillRequest(t *catalog.Tool, given []byte) error {
	x, req := c.x, &c.req
	req.Entry.Target = t.Name
	args, err := t.SplitArguments(given)
	if err != nil {
		return err
	}
	if t.IsAgent {
		req.Body, err = x.selfMessage(t, args.Own)
	} else {
		req.Call = beeos.Call{Method: "tools/call", Tool: t.Name, Arguments: args.Own}
		req.Check = func() error { return x.checkArguments(t, args.Own) }
	}
	if err != nil {
		return err
	}
	req.IdempotencyKey, req.Attachments = args.IdempotencyKey, args.Attachments
	req.ContextID = args.ContextID
	c.stopsWhenLeft = x.stopsWhenLeft(req.IdempotencyKey)
	if x.Session != nil {
		if req.SessionID = x.Session.Channel; x.EndpointAgent == "" { // a channel has one agent
			req.SessionID = "session " + x.Session.Channel
		}
	}
	if c.handOverAfter, c.handOverResult = x.handOverPlan(t); c.handOverAfter > 0 {
		req.Deadline = x.Runner.Now().Add(wire.TaskLife)
	}
	return nil
}

// handOverPlan is after how long the call becomes something to come back for,
// and what the client gets instead of its result; 0 = never. Who names no
// revision waits for the agent's timeout, as documented, and so does everybody
// where the agent's owner has switched it off.
func (x *Client) handOverPlan(t *catalog.Tool) (time.Duration, resultForTurn) {
	switch {
	case x.Version == wire.Unversioned:
		return 0, nil
	case (!x.Version.Stateless() || !x.Can.Has(wire.CanTasks)) && !x.Agent.HandOver:
		return 0, nil // its owner wants callers to wait, or to be told that it took too long
	case !x.Version.Stateless() || !x.Can.Has(wire.CanTasks) || t.TaskSupport == catalog.TaskForbidden:
		return x.Runner.HandOver, x.handOverNotice(t)
	case t.TaskSupport == catalog.TaskOptional, t.TaskSupport == catalog.TaskRequired:
		return taskSoon, wire.CreatedTask
	}
	return taskLater, wire.CreatedTask
}

// toolParams reads the params of tools/call; arguments may be nil.
func toolParams(params []byte) (name string, arguments []byte, err error) {
	for n, value := range strictjson.Fields(params) {
		switch n {
		case "name":
			name, _ = strictjson.StringValue(value)
		case "arguments":
			arguments = value
		}
	}
	if name == "" {
		return "", nil, beeos.Errorf(beeos.MissingParam, "params.name must name a tool; tools/list has them")
	}
	switch wire.Kind(arguments) {
	case 0, 'n', '{':
		return name, arguments, nil
	}
	return "", nil, beeos.Errorf(beeos.InvalidParam, "params.arguments must be an object")
}

// selfMessage reads the one argument of an agent's own tool.
func (x *Client) selfMessage(t *catalog.Tool, args []byte) (string, error) {
	raw := strictjson.Field(args, "message")
	message, ok := strictjson.StringValue(raw)
	switch {
	case raw == nil:
		return "", x.badArguments(t, `missing "message": the text for the agent`)
	case !ok:
		return "", x.badArguments(t, `"message" must be a string`)
	case strings.TrimSpace(message) == "":
		return "", beeos.Errorf(beeos.InvalidParam, "message must not be empty")
	}
	return message, nil
}

// checkArguments holds args to the tool's schema.
func (x *Client) checkArguments(t *catalog.Tool, args []byte) error {
	s, err := t.Schema()
	if err != nil {
		return newModelError("the tool " + t.Name + " cannot be called: its inputSchema cannot be checked: " + beeos.Shorten(err.Error(), schema.ComplaintSize))
	}
	if err := s.Check(args); err != nil {
		return x.badArguments(t, err.Error())
	}
	return nil
}

// badArguments is an error for a program to read up to 2025-06-18, and for a
// model since.
func (x *Client) badArguments(t *catalog.Tool, complaint string) error {
	complaint = "invalid arguments for " + t.Name + ": " + complaint
	if x.Version.BadArgumentsAreResults() {
		return newModelError(complaint)
	}
	return beeos.Errorf(beeos.InvalidParam, "%s", complaint)
}

// resolveCallTool resolves call_tool: the tool that is meant, and its
// arguments.
func (x *Client) resolveCallTool(t *catalog.Tool, given []byte) (*catalog.Tool, []byte, error) {
	if !t.IsMeta || t.Name != catalog.CallToolName {
		return t, given, nil
	}
	name, arguments, err := toolParams(given)
	if err != nil {
		return nil, nil, err
	}
	meant := x.Lists.ToolByName[name]
	if meant == nil || meant.IsMeta {
		return nil, nil, wire.ToolNotFound(name)
	}
	return meant, arguments, nil
}
