package mcp

import (
	"context"
	"net/http"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/surface/mcp/stream"
	"github.com/beeos/beeos/internal/surface/mcp/wire"
	"github.com/beeos/beeos/internal/wire/strictjson"
)

// listen answers subscriptions/listen: a stream that stays open and tells what
// the client wants to know, and nothing else. Its last message is the result.
func (x *request) listen(ctx context.Context, m *wire.Message) ([]byte, error) {
	if !x.Out.AcceptsStream {
		return nil, wire.WithStatus(http.StatusNotAcceptable, beeos.Errorf(beeos.InvalidBody, "subscriptions/listen is answered with a stream: accept text/event-stream"))
	}
	wanted := strictjson.Field(m.Params, "notifications")
	wants, tasks, err := stream.ReadFilter(wanted)
	if err != nil {
		return nil, err
	}
	if strictjson.Field(wanted, "taskIds") != nil && !x.Can.Has(wire.CanTasks) {
		return nil, wire.MissingCapability(wire.CanTasks)
	}
	if len(tasks) > stream.PendingMax { // each is looked for
		return nil, beeos.Errorf(beeos.InvalidParam, "a stream listens to at most %d tasks: open another one for the rest", stream.PendingMax)
	}
	tag := append(append([]byte(`"_meta":{"`+wire.MetaSubscription+`":`), m.ID...), '}')
	watched := stream.OwnTasks(ctx, &x.Client, tasks)
	topics := []string{stream.TopicAgent + x.EndpointAgent}
	for task := range watched {
		topics = append(topics, stream.TopicTurn+task)
	}
	if err := x.open.Follow(); err != nil {
		return nil, err
	}
	s, leave := x.surface.hub.Open(topics...)
	defer leave()
	s.SetMembers(x.Lists)
	f := x.newFollower(s, wants)
	f.Tag, f.Tasks = tag, watched
	if err := f.Notify("notifications/subscriptions/acknowledged", stream.Acknowledged(wanted, wants, watched)); err != nil {
		return nil, err
	}
	s.NoteTurns(watched) // something may have happened before the stream was open
	if err := f.Run(ctx); err != nil {
		return nil, err
	}
	if ctx.Err() != nil && x.surface.opt.Context.Err() != nil { // we are stopping: say goodbye
		x.SendResult(m, append(append([]byte{'{'}, tag...), '}'))
	}
	return append(append([]byte{'{'}, tag...), '}'), nil
}
