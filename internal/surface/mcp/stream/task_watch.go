package stream

import (
	"bytes"
	"context"

	"github.com/beeos/beeos/internal/surface/mcp/call"
	"github.com/beeos/beeos/internal/surface/mcp/wire"
)

// TaskWatch tells a listening client how its tasks are getting on.
type TaskWatch struct {
	x    *call.Client
	tag  []byte
	Last map[string][]byte // task -> as the client was last told
}

// NewTaskWatch keeps those of the ids that are tasks of this caller's.
func NewTaskWatch(ctx context.Context, x *call.Client, ids []string, tag []byte) *TaskWatch {
	w := &TaskWatch{x: x, tag: tag, Last: map[string][]byte{}}
	for _, id := range ids {
		if _, err := x.TaskByID(ctx, id); err == nil {
			w.Last[id] = nil
		}
	}
	return w
}

// nextNotification returns the notification about a task that is not as it was.
func (w *TaskWatch) nextNotification(ctx context.Context, id string) []byte {
	before, watched := w.Last[id]
	if !watched {
		return nil
	}
	t, err := w.x.TaskByID(ctx, id)
	if err != nil {
		return nil
	}
	now := w.x.TaskState(ctx, &t)
	if bytes.Equal(now, before) {
		return nil
	}
	w.Last[id] = now
	return wire.Notification("notifications/tasks", w.tag, now)
}
