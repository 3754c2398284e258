package mcp

import (
	"context"

	"github.com/beeos/beeos/internal/surface/mcp/catalog"
	"github.com/beeos/beeos/internal/surface/mcp/replies"
	"github.com/beeos/beeos/internal/surface/mcp/wire"
)

// handler answers one method.
type handler = func(*request, context.Context, *wire.Message) ([]byte, error)

// commonMethods are those that all revisions have.
var commonMethods = map[string]handler{
	"tools/list":               (*request).listTools,
	"tools/call":               (*request).CallTool,
	"resources/list":           pageOf(func(l *catalog.Lists) catalog.List { return l.Resources }),
	"resources/templates/list": pageOf(func(l *catalog.Lists) catalog.List { return l.Templates }),
	"resources/read":           atMember((*request).readResource),
	"prompts/list":             pageOf(func(l *catalog.Lists) catalog.List { return l.Prompts }),
	"prompts/get":              atMember((*request).getPrompt),
	"completion/complete":      atMember((*request).complete),
}

// handshakeMethods are those that the stateless era took away.
var handshakeMethods = map[string]handler{
	"initialize":            (*request).initialize,
	"ping":                  answerNothing,
	"logging/setLevel":      (*request).setLevel,
	"resources/subscribe":   (*request).subscribe,
	"resources/unsubscribe": (*request).subscribe,
}

// statelessMethods are those that only the stateless era has.
var statelessMethods = map[string]handler{
	"server/discover":          (*request).discover,
	"subscriptions/listen":     (*request).listen,
	"skills/list":              pageOf(func(l *catalog.Lists) catalog.List { return l.Skills.List }),
	"skills/get":               (*request).getSkill,
	"resources/directory/read": atMember((*request).readDirectory),
	"tasks/get":                (*request).GetTask,
	"tasks/update":             (*request).UpdateTask,
	"tasks/cancel":             (*request).CancelTask,
}

// findMethod returns nil for a method that the revision does not have.
func findMethod(name string, v wire.Version) handler {
	if h := commonMethods[name]; h != nil {
		return h
	}
	if v.Stateless() {
		return statelessMethods[name]
	}
	return handshakeMethods[name]
}

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
	if h := findMethod(m.Method, x.Version); h != nil {
		x.beginOperation()
		result, err := h(x, x.WithMetaTrace(ctx), m)
		x.endOperation(m.Method, err)
		return replies.RenderFor(x.Version, m.Method, result), err
	}
	return nil, x.refuseUnknown(m.Method)
}

// pageOf answers a method that lists what there is.
func pageOf(list func(*catalog.Lists) catalog.List) handler {
	return func(x *request, _ context.Context, m *wire.Message) ([]byte, error) {
		return list(x.Lists).Page(m.Params)
	}
}

func answerNothing(*request, context.Context, *wire.Message) ([]byte, error) {
	return []byte(`{}`), nil
}
