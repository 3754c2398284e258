package mcp

import (
	"context"
	"net/http"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/wire/httpd"
)

// listen answers subscriptions/listen: a stream that stays open and tells what
// the client wants to know, and nothing else. Its last message is the result.
func (x *exchange) listen(ctx context.Context, m *message) ([]byte, error) {
	if !x.out.acceptsStream {
		return nil, &fault{
			err:    beeos.Errorf(beeos.InvalidBody, "subscriptions/listen is answered with a stream: accept text/event-stream"),
			number: codeNumbers[beeos.InvalidBody],
			status: http.StatusNotAcceptable,
		}
	}
	wanted := httpd.Field(m.params, "notifications")
	wants, tasks, err := readFilter(wanted)
	if err != nil {
		return nil, err
	}
	if httpd.Field(wanted, "taskIds") != nil && !x.can.has(canTasks) {
		return nil, missingCapability(canTasks.declaration())
	}
	if len(tasks) > pendingMax { // each is looked for
		return nil, beeos.Errorf(beeos.InvalidParam, "a stream listens to at most %d tasks: open another one for the rest", pendingMax)
	}
	tag := append(append([]byte(`"_meta":{"`+metaSubscription+`":`), m.id...), '}')
	watch := x.watchTasks(ctx, tasks, tag)
	topics := []string{topicAgent + x.endpointAgent}
	for task := range watch.last {
		topics = append(topics, topicTurn+task)
	}
	s, leave, err := x.g.hub.open(x.caller.Principal(), topics...)
	if err != nil {
		return nil, err
	}
	defer leave()
	s.setMembers(x.lists)
	f := &follower{x: x, stream: s, wants: wants, tag: tag, lists: x.lists, tasks: watch}
	if err := f.notify("notifications/subscriptions/acknowledged", acknowledged(wanted, wants, watch.last)); err != nil {
		return nil, err
	}
	s.mu.Lock()
	for task := range watch.last { // what happened before the stream was open
		s.turns[task] = true
	}
	s.mu.Unlock()
	s.wakeUp()
	if err := f.run(ctx); err != nil {
		return nil, err
	}
	if ctx.Err() != nil && x.g.opt.Context.Err() != nil { // we are stopping: say goodbye
		head, body := x.result(m, append(append([]byte{'{'}, tag...), '}'))
		x.out.sendAnswer(http.StatusOK, head, body, []byte{'}'})
	}
	return append(append([]byte{'{'}, tag...), '}'), nil
}

// readFilter reads what a client wants to hear of.
func readFilter(raw []byte) (f filter, tasks []string, err error) {
	if kind(raw) != '{' {
		return f, nil, beeos.Errorf(beeos.InvalidParam, "params.notifications must be an object: what to listen to")
	}
	f.uris = map[string]bool{}
	for name, value := range httpd.Fields(raw) {
		on := kind(value) == 't'
		switch name {
		case "toolsListChanged":
			f.tools = on
		case "promptsListChanged":
			f.prompts = on
		case "resourcesListChanged":
			f.resources = on
		case "resourceSubscriptions":
			for v := range httpd.Elements(value) {
				if uri, ok := httpd.StringValue(v); ok {
					f.uris[uri] = true
				}
			}
		case "taskIds":
			for v := range httpd.Elements(value) {
				if id, ok := httpd.StringValue(v); ok {
					tasks = append(tasks, id)
				}
			}
		}
	}
	return f, tasks, nil
}

// acknowledged tells a client what it will hear of: what it asked for, as far
// as we know it.
func acknowledged(wanted []byte, wants filter, tasks map[string][]byte) []byte {
	b := []byte(`"notifications":{`)
	add := func(name string, value []byte) {
		if b[len(b)-1] != '{' {
			b = append(b, ',')
		}
		b = append(append(b, `"`+name+`":`...), value...)
	}
	for _, o := range []struct {
		on   bool
		name string
	}{{wants.tools, "toolsListChanged"}, {wants.prompts, "promptsListChanged"}, {wants.resources, "resourcesListChanged"}} {
		if o.on {
			add(o.name, []byte("true"))
		}
	}
	if len(wants.uris) > 0 {
		add("resourceSubscriptions", httpd.Field(wanted, "resourceSubscriptions"))
	}
	if len(tasks) > 0 {
		ids := []byte{'['}
		for id := range tasks {
			ids = append(appendText(ids, id), ',')
		}
		add("taskIds", append(ids[:len(ids)-1], ']'))
	}
	return append(b, '}')
}
