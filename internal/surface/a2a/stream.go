package a2a

import (
	"context"
	"iter"
	"net/http"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/task"
	"github.com/beeos/beeos/internal/wire/httpd"
)

// events is what a stream carries: values of the SDK's types, in StreamResponse.
type events = iter.Seq2[any, error]

// streamMessage is SendStreamingMessage: the task first, then what happens to
// it until it ends or waits for its caller.
func (x *exchange) streamMessage(ctx context.Context) (events, error) {
	s, err := x.readSend(ctx)
	if err != nil {
		return nil, err
	}
	t, since, err := x.submit(ctx, s)
	if err != nil {
		return nil, err
	}
	var first *a2a.Task
	if s.task != nil || t.Done != nil {
		first, err = view(ctx, x.g.opt.Calls, &t, s.history)
	} else {
		first = &a2a.Task{
			ID: a2a.TaskID(t.Turn), ContextID: contextOf(t.Metadata, t.Channel),
			Status: a2a.TaskStatus{State: states[t.Status], Timestamp: moment(t.Created)},
		}
		if s.history == nil || *s.history > 0 {
			first.History = []*a2a.Message{said(s.incoming, t.Turn, first.ContextID)}
		}
	}
	if err != nil {
		return nil, err
	}
	return x.follow(ctx, &t, first, since, true), nil
}

// subscribe is SubscribeToTask. It works for any task that is under way,
// whoever made it, on whichever surface, and whichever replica held the last
// stream: the task is in the ledger, and its text so far is with its agent.
func (x *exchange) subscribe(ctx context.Context) (events, error) {
	id, err := x.taskID("id")
	if err != nil {
		return nil, err
	}
	t, err := x.ownTask(ctx, id)
	if err != nil {
		return nil, err
	}
	if t.Done != nil {
		return nil, refuse(unsupportedOp, "the task is %s, nothing more will happen to it; get it instead", t.Status)
	}
	said, err := x.g.opt.Calls.TaskMessages(ctx, &t)
	if err != nil {
		return nil, err
	}
	since := t.Offset
	if n := len(said); n > 0 {
		since = said[n-1].Offset // everything up to here is in the task itself
	}
	first := &a2a.Task{
		ID: a2a.TaskID(t.Turn), ContextID: contextOf(t.Metadata, t.Channel),
		Status: a2a.TaskStatus{State: states[t.Status], Timestamp: moment(t.Created)},
	}
	tell(first, said)
	for i := range said {
		if said[i].Type.Terminal() { // it has ended between the two looks
			finish(first, &said[i])
			t.Done = &said[i]
		}
	}
	return x.follow(ctx, &t, first, since, false), nil
}

// revoked is why the credential is no good any more, which a stream can
// outlive; nil = it is, or nobody knows at the moment.
func (x *exchange) revoked() error {
	if _, err := x.g.opt.Auth.Authenticate(x.r, audience); err != nil && httpd.Status(beeos.CodeOf(err)) == http.StatusUnauthorized {
		return err
	}
	return nil
}

// follow is the task, then its changes.
func (x *exchange) follow(ctx context.Context, t *task.Task, first *a2a.Task, since int64, untilPause bool) events {
	return func(yield func(any, error) bool) {
		if !yield(a2a.StreamResponse{Event: first}, nil) || t.Done != nil {
			return
		}
		n := &narrator{task: a2a.TaskInfo{TaskID: first.ID, ContextID: first.ContextID}, state: first.Status.State}
		for ev, err := range x.g.opt.Calls.WatchTurn(ctx, t.Channel, t.Turn, since) {
			if err == nil {
				err = x.revoked()
			}
			if err != nil {
				yield(nil, err)
				return
			}
			for _, e := range n.tell(&ev) {
				if !yield(a2a.StreamResponse{Event: e}, nil) {
					return
				}
			}
			if ev.Kind == beeos.EventMessage && (ev.Message.Type.Terminal() || untilPause && settles(ev.Message.Type)) {
				return
			}
		}
	}
}
