package mcp

import (
	"context"

	"github.com/beeos/beeos/internal/surface/mcp/wire"
)

// handle runs one message. A request has a result or an error; what has
// neither was a notification or a response.
func (x *request) handle(ctx context.Context, m *wire.Message) ([]byte, error) {
	if m.IsResponse() {
		return nil, x.ReceiveAnswer(ctx, m)
	}
	if m.IsNotification() {
		if m.Method == "notifications/cancelled" {
			x.HandleCancelled(m.Params)
		}
		return nil, nil
	}
	switch m.Method {
	case "initialize":
		return x.initialize(m.Params)
	case "ping":
		return []byte(`{}`), nil
	case "logging/setLevel":
		return x.setLevel(ctx, m.Params)
	case "resources/subscribe", "resources/unsubscribe":
		return x.subscribe(ctx, m)
	case "tools/list":
		return x.listTools(m.Params)
	case "tools/call":
		return x.CallTool(ctx, m)
	case "resources/list":
		return x.Lists.Resources.Page("resources", m.Params)
	case "resources/templates/list":
		return x.Lists.Templates.Page("resourceTemplates", m.Params)
	case "resources/read":
		return x.atMember(ctx, m, (*request).readResource)
	case "prompts/list":
		return x.Lists.Prompts.Page("prompts", m.Params)
	case "prompts/get":
		return x.atMember(ctx, m, (*request).getPrompt)
	case "completion/complete":
		return x.atMember(ctx, m, (*request).complete)
	}
	if x.Version.Stateless() {
		return x.handleModern(ctx, m)
	}
	return nil, wire.MethodNotFound(m.Method)
}

// handleModern runs what only the stateless era has.
func (x *request) handleModern(ctx context.Context, m *wire.Message) ([]byte, error) {
	switch m.Method {
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
		return x.GetTask(ctx, m)
	case "tasks/update":
		return x.UpdateTask(ctx, m)
	case "tasks/cancel":
		return x.CancelTask(ctx, m)
	}
	return nil, wire.MethodNotFound(m.Method)
}
