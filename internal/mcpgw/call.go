package mcpgw

import (
	"context"
	"crypto/sha256"
	"strings"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/httpd"
	"github.com/beeos/beeos/internal/invoke"
)

// callTool answers tools/call.
func (x *exchange) callTool(ctx context.Context, m *message) ([]byte, error) {
	name, given, err := toolParams(m.params)
	if err != nil {
		return nil, err
	}
	t, given, err := x.through(x.lists.toolByName[name], given)
	switch {
	case err != nil:
		return nil, err
	case t == nil:
		return nil, toolNotFound(name)
	case t.meta:
		return x.search(given)
	}
	if t.agent != nil {
		x.agent = t.agent
	}
	if err := x.checkParams(t, given); err != nil {
		return nil, err
	}
	args, err := t.split(given)
	if err != nil {
		return nil, err
	}
	req := invoke.Request{
		ContextID:      args.contextID,
		IdempotencyKey: args.idempotencyKey,
		Attachments:    args.attachments,
		Call:           beeos.Call{Method: "tools/call", Tool: t.name, Arguments: args.own},
	}
	if t.self {
		message, complaint := selfMessage(args.own)
		if complaint != "" {
			return x.badArguments(t, complaint)
		}
		if strings.TrimSpace(message) == "" {
			return nil, beeos.Errorf(beeos.InvalidParam, "message must not be empty")
		}
		req.Body, req.Call = message, beeos.Call{}
	} else if result, err := x.checkArguments(t, args.own); result != nil || err != nil {
		return result, err
	}
	if args.idempotencyKey != "" {
		// Over what the client asked and not over how: a retry may come in
		// another session, or without one.
		sum := sha256.Sum256([]byte(t.name + "\x00" + args.contextID + "\x00" + string(args.own)))
		req.Fingerprint = sum[:]
	}
	switch {
	case x.session == nil || args.contextID != "":
	case x.home == "": // a channel has one agent
		req.ContextID = "session " + x.session.channel
	default:
		req.Channel = x.session.channel
	}
	if x.version.stateless() && t.tasks == taskRequired {
		if !x.can.has(canTasks) {
			return nil, missingCapability(canTasks.declaration())
		}
		return x.startTask(ctx, m, req)
	}
	reply, early, err := x.call(ctx, m, req, x.patience(t))
	if reply == nil {
		return early, err
	}
	return x.toolReply(reply)
}

// patience is after how long the call becomes a task; 0 = never.
func (x *exchange) patience(t *tool) time.Duration {
	switch {
	case !x.version.stateless() || !x.can.has(canTasks) || t.tasks == taskForbidden:
		return 0
	case t.tasks == taskOptional:
		return taskSoon
	}
	return taskLater
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
