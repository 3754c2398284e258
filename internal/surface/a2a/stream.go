package a2a

import (
	"context"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/task"
	"github.com/beeos/beeos/internal/surface/a2a/wire"
)

// streamMessage is SendStreamingMessage: the task first, then what happens to
// it until it ends or waits for its caller.
func (o *operation) streamMessage(ctx context.Context) (events, error) {
	s, err := o.readSend(ctx)
	if err != nil {
		return nil, err
	}
	s.req.Entry.Method = "SendStreamingMessage"
	t, since, err := o.submitMessage(ctx, s)
	if err != nil {
		return nil, err
	}
	first := wire.TaskOf(&t)
	if s.task == nil && t.Done == nil {
		s.addHistory(first)
	} else if first, err = viewTask(ctx, o.surface.opt.Calls, &t, s.history); err != nil {
		return nil, err
	}
	return o.streamUpdates(ctx, &t, first, since, true), nil
}

// subscribeToTask works for any task that is under way, whoever made it, on
// whichever surface, and whichever replica held the last stream: the task is in
// the ledger, and its text so far is with its agent.
func (o *operation) subscribeToTask(ctx context.Context) (events, error) {
	t, err := o.readTask(ctx)
	if err != nil {
		return nil, err
	}
	if t.Done != nil {
		return nil, wire.Refuse(wire.UnsupportedOperation, "the task is %s, nothing more will happen to it; get it instead", t.Status)
	}
	said, err := o.surface.opt.Calls.TaskMessages(ctx, &t)
	if err != nil {
		return nil, err
	}
	first, since := wire.TaskOf(&t), t.Offset
	wire.AddHistory(first, said)
	for i := range said {
		since = said[i].Offset       // everything up to here is in the task itself
		if said[i].Type.Terminal() { // it has ended between the two looks
			wire.FinishTask(first, &said[i])
			t.Done = &said[i]
		}
	}
	return o.streamUpdates(ctx, &t, first, since, false), nil
}

// streamUpdates is the task, then its changes.
func (o *operation) streamUpdates(ctx context.Context, t *task.Task, first *a2a.Task, since int64, untilPause bool) events {
	return func(yield func(any, error) bool) {
		if !yield(a2a.StreamResponse{Event: first}, nil) || t.Done != nil {
			return
		}
		updates := wire.UpdatesAfter(first)
		for ev, err := range o.surface.opt.Calls.WatchTurn(ctx, t.Channel, t.Turn, since) {
			if err != nil {
				yield(nil, err)
				return
			}
			for _, e := range updates.Translate(&ev) {
				if !yield(a2a.StreamResponse{Event: e}, nil) {
					return
				}
			}
			if ev.Kind == beeos.EventMessage && (ev.Message.Type.Terminal() || untilPause && endsWait(ev.Message.Type)) {
				return
			}
		}
	}
}
