package mcp

import (
	"context"
	"net/http"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/wire/httpd"
)

// listen answers subscriptions/listen: a stream that stays open and tells what
// the client wants to know, and nothing else. Its last message is the result.
func (x *request) listen(ctx context.Context, m *message) ([]byte, error) {
	if !x.out.acceptsStream {
		return nil, withStatus(http.StatusNotAcceptable, beeos.Errorf(beeos.InvalidBody, "subscriptions/listen is answered with a stream: accept text/event-stream"))
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
	watch := newTaskWatch(ctx, &x.client, tasks, tag)
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
	f := x.newFollower(s, wants)
	f.tag, f.tasks = tag, watch
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
		x.sendResult(m, append(append([]byte{'{'}, tag...), '}'))
	}
	return append(append([]byte{'{'}, tag...), '}'), nil
}
