package mcp

import (
	"context"
)

// handle runs one message. A request has a result or an error; what has
// neither was a notification or a response.
func (x *request) handle(ctx context.Context, m *message) ([]byte, error) {
	if m.isResponse() {
		return nil, x.receiveAnswer(ctx, m)
	}
	if m.isNotification() {
		if m.method == "notifications/cancelled" {
			x.handleCancelled(m.params)
		}
		return nil, nil
	}
	switch m.method {
	case "initialize":
		return x.initialize(m.params)
	case "ping":
		return []byte(`{}`), nil
	case "logging/setLevel":
		return x.setLevel(ctx, m.params)
	case "resources/subscribe", "resources/unsubscribe":
		return x.subscribe(ctx, m)
	case "tools/list":
		return x.listTools(m.params)
	case "tools/call":
		return x.callTool(ctx, m)
	case "resources/list":
		return x.lists.resources.page("resources", m.params)
	case "resources/templates/list":
		return x.lists.templates.page("resourceTemplates", m.params)
	case "resources/read":
		return x.atMember(ctx, m, (*request).readResource)
	case "prompts/list":
		return x.lists.prompts.page("prompts", m.params)
	case "prompts/get":
		return x.atMember(ctx, m, (*request).getPrompt)
	case "completion/complete":
		return x.atMember(ctx, m, (*request).complete)
	}
	if x.version.stateless() {
		return x.handleModern(ctx, m)
	}
	return nil, methodNotFound(m.method)
}

// handleModern runs what only the stateless era has.
func (x *request) handleModern(ctx context.Context, m *message) ([]byte, error) {
	switch m.method {
	case "server/discover":
		return x.discover()
	case "subscriptions/listen":
		return x.listen(ctx, m)
	case "skills/list":
		return x.listSkills(m)
	case "skills/get":
		return x.getSkill(m)
	case "resources/directory/read":
		return x.atMember(ctx, m, (*request).readDirectory)
	case "tasks/get":
		return x.getTask(ctx, m)
	case "tasks/update":
		return x.updateTask(ctx, m)
	case "tasks/cancel":
		return x.cancelTask(ctx, m)
	}
	return nil, methodNotFound(m.method)
}
