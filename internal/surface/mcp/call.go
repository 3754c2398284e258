package mcp

import (
	"context"
	"strings"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/wire/httpd"
)

// callTool answers tools/call. All that a call needs is made ready by functions
// that have returned, with their frames, before it waits.
func (x *exchange) callTool(ctx context.Context, m *message) ([]byte, error) {
	c, result, err := x.toolCall(ctx, m)
	if c == nil {
		return result, err
	}
	reply, result, err := c.call(ctx)
	if reply == nil {
		return result, err
	}
	return x.toolReply(reply)
}

// toolCall makes a tools/call ready to run, or answers it.
func (x *exchange) toolCall(ctx context.Context, m *message) (*run, []byte, error) {
	name, given, err := toolParams(m.params)
	if err != nil {
		return nil, nil, err
	}
	listed := x.lists.toolByName[name]
	if listed == nil {
		return nil, nil, toolNotFound(name)
	}
	// Headers repeat the arguments of the tool that is named, whatever it calls.
	if err := x.checkParams(listed, given); err != nil {
		return nil, nil, err
	}
	t, given, err := x.through(listed, given)
	switch {
	case err != nil:
		return nil, nil, err
	case t.meta:
		result, err := x.search(given)
		return nil, result, err
	case t.fetches:
		return x.taskFetch(ctx, m, t, given)
	}
	if t.agent != nil {
		x.agent = t.agent
	}
	c := &run{x: x, m: m}
	if result, err := c.fill(t, given); result != nil || err != nil {
		return nil, result, err
	}
	needsTask := x.version.stateless() && t.tasks == taskRequired
	if needsTask && !x.can.has(canTasks) {
		return nil, nil, missingCapability(canTasks.declaration())
	}
	if err := c.prepare(); err != nil {
		return nil, nil, err
	}
	if needsTask {
		result, err := c.startTask(ctx)
		return nil, result, err
	}
	return c, nil, nil
}

// fill puts into the request what the client gave, if it fits the tool.
func (c *run) fill(t *tool, given []byte) ([]byte, error) {
	x, req := c.x, &c.req
	args, err := t.split(given)
	if err != nil {
		return nil, err
	}
	if t.self {
		message, complaint := selfMessage(args.own)
		if complaint != "" {
			return x.badArguments(t, complaint)
		}
		if strings.TrimSpace(message) == "" {
			return nil, beeos.Errorf(beeos.InvalidParam, "message must not be empty")
		}
		req.Body = message
	} else {
		if result, err := x.checkArguments(t, args.own); result != nil || err != nil {
			return result, err
		}
		req.Call = beeos.Call{Method: "tools/call", Tool: t.name, Arguments: args.own}
	}
	req.IdempotencyKey, req.Attachments = args.idempotencyKey, args.attachments
	req.ContextID = args.contextID
	if x.session != nil {
		if req.SessionID = x.session.channel; x.home == "" { // a channel has one agent
			req.SessionID = "session " + x.session.channel
		}
	}
	if c.patience, c.become = x.patience(t); c.patience > 0 {
		req.Deadline = x.g.opt.Now().Add(taskLife)
	}
	return nil, nil
}

// patience is after how long the call becomes something to come back for, and
// what the client gets instead of its result; 0 = never. Who names no revision
// waits for the agent's timeout, as documented.
func (x *exchange) patience(t *tool) (time.Duration, become) {
	switch {
	case x.version == bare:
		return 0, nil
	case !x.version.stateless() || !x.can.has(canTasks) || t.tasks == taskForbidden:
		return x.g.opt.HandOver, x.handedOver(t)
	case t.tasks == taskOptional, t.tasks == taskRequired:
		return taskSoon, createdTask
	}
	return taskLater, createdTask
}

// toolParams reads the params of tools/call; arguments may be nil.
func toolParams(params []byte) (name string, arguments []byte, err error) {
	for n, value := range httpd.Fields(params) {
		switch n {
		case "name":
			name, _ = httpd.StringValue(value)
		case "arguments":
			arguments = value
		}
	}
	if name == "" {
		return "", nil, beeos.Errorf(beeos.MissingParam, "params.name must name a tool; tools/list has them")
	}
	switch kind(arguments) {
	case 0, 'n', '{':
		return name, arguments, nil
	}
	return "", nil, beeos.Errorf(beeos.InvalidParam, "params.arguments must be an object")
}

// selfMessage reads the one argument of an agent's own tool; complaint says
// how the arguments do not fit the tool's schema.
func selfMessage(args []byte) (message, complaint string) {
	raw := httpd.Field(args, "message")
	if raw == nil {
		return "", `missing "message": the text for the agent`
	}
	message, ok := httpd.StringValue(raw)
	if !ok {
		return "", `"message" must be a string`
	}
	return message, ""
}

// checkArguments returns nothing when args fit the tool's schema.
func (x *exchange) checkArguments(t *tool, args []byte) ([]byte, error) {
	s, err := t.schema()
	if err != nil {
		return errorResult("the tool " + t.name + " cannot be called: its inputSchema cannot be checked: " + shorten(err.Error(), complaintSize)), nil
	}
	if err := s.check(args); err != nil {
		return x.badArguments(t, err.Error())
	}
	return nil, nil
}

// badArguments is an error for a program to read up to 2025-06-18, and a
// result for a model to read since.
func (x *exchange) badArguments(t *tool, complaint string) ([]byte, error) {
	complaint = "invalid arguments for " + t.name + ": " + complaint
	if x.version.badArgumentsAreResults() {
		return errorResult(complaint), nil
	}
	return nil, beeos.Errorf(beeos.InvalidParam, "%s", complaint)
}
