package mcp

import (
	"context"
	"crypto/sha256"
	"strings"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/wire/httpd"
)

// callTool answers tools/call. All that a call needs is made ready by functions
// that have returned, with their frames, before it waits.
func (x *client) callTool(ctx context.Context, m *message) ([]byte, error) {
	c, result, err := x.toolCall(ctx, m)
	if c == nil {
		return result, err
	}
	return x.toolOutcome(c.runToEnd(ctx))
}

// toolCall makes a tools/call ready to run, or answers it.
func (x *client) toolCall(ctx context.Context, m *message) (*activeCall, []byte, error) {
	name, given, err := toolParams(m.params)
	if err != nil {
		return nil, nil, err
	}
	listed := x.lists.toolByName[name]
	if listed == nil {
		return nil, nil, toolNotFound(name)
	}
	// Headers repeat the arguments of the tool that is named, whatever it calls.
	if x.version.stateless() {
		if err := checkParamHeaders(x.r.Header, listed.bindings, given); err != nil {
			return nil, nil, err
		}
	}
	t, given, err := x.resolveCallTool(listed, given)
	switch {
	case err != nil:
		return nil, nil, err
	case t.isMeta:
		result, err := x.lists.searchTools(given)
		return nil, result, err
	case t.isFetch:
		return x.fetchTask(ctx, m, t, given)
	}
	if t.agent != nil {
		x.agent = t.agent
	}
	c := &activeCall{x: x, m: m}
	if result, err := c.fillRequest(t, given); result != nil || err != nil {
		return nil, result, err
	}
	needsTask := x.version.stateless() && t.taskSupport == taskRequired
	if needsTask && !x.can.has(canTasks) {
		return nil, nil, missingCapability(canTasks.declaration())
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
func (c *activeCall) fillRequest(t *tool, given []byte) ([]byte, error) {
	x, req := c.x, &c.req
	args, err := t.splitArguments(given)
	if err != nil {
		return nil, err
	}
	if t.isAgent {
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
	if args.idempotencyKey != "" {
		// Over what the client asked and not over how: a retry may come in
		// another session, or without one.
		sum := sha256.Sum256([]byte(t.name + "\x00" + args.contextID + "\x00" + string(args.own)))
		req.Fingerprint = sum[:]
	}
	switch {
	case x.session == nil || args.contextID != "":
		req.ContextID = args.contextID
	case x.endpointAgent == "": // a channel has one agent
		req.ContextID = "session " + x.session.channel
	default:
		req.Channel = x.session.channel
	}
	if c.handOverAfter, c.handOverResult = x.handOverPlan(t); c.handOverAfter > 0 {
		req.Deadline = x.runner.Now().Add(taskLife)
	}
	return nil, nil
}

// handOverPlan is after how long the call becomes something to come back for, and
// what the client gets instead of its result; 0 = never. Who names no revision
// waits for the agent's timeout, as documented.
func (x *client) handOverPlan(t *tool) (time.Duration, resultForTurn) {
	switch {
	case x.version == unversioned:
		return 0, nil
	case !x.version.stateless() || !x.can.has(canTasks) || t.taskSupport == taskForbidden:
		return x.runner.HandOver, x.handOverNotice(t)
	case t.taskSupport == taskOptional, t.taskSupport == taskRequired:
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
func (x *client) checkArguments(t *tool, args []byte) ([]byte, error) {
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
func (x *client) badArguments(t *tool, complaint string) ([]byte, error) {
	complaint = "invalid arguments for " + t.name + ": " + complaint
	if x.version.badArgumentsAreResults() {
		return errorResult(complaint), nil
	}
	return nil, beeos.Errorf(beeos.InvalidParam, "%s", complaint)
}

// resolveCallTool resolves call_tool: the tool that is meant, and its arguments.
func (x *client) resolveCallTool(t *tool, given []byte) (*tool, []byte, error) {
	if !t.isMeta || t.name != callThrough {
		return t, given, nil
	}
	name, arguments, err := toolParams(given)
	if err != nil {
		return nil, nil, err
	}
	meant := x.lists.toolByName[name]
	if meant == nil || meant.isMeta {
		return nil, nil, toolNotFound(name)
	}
	return meant, arguments, nil
}
