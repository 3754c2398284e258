package mcp

import (
	"bytes"
	"context"
)

// taskWatch tells a listening client how its tasks are getting on.
type taskWatch struct {
	x    *client
	tag  []byte
	last map[string][]byte // task -> as the client was last told
}

// newTaskWatch keeps those of the ids that are tasks of this caller's.
func newTaskWatch(ctx context.Context, x *client, ids []string, tag []byte) *taskWatch {
	w := &taskWatch{x: x, tag: tag, last: map[string][]byte{}}
	for _, id := range ids {
		if _, err := x.taskByID(ctx, id); err == nil {
			w.last[id] = nil
		}
	}
	return w
}

// nextNotification returns the notification about a task that is not as it was.
func (w *taskWatch) nextNotification(ctx context.Context, id string) []byte {
	before, watched := w.last[id]
	if !watched {
		return nil
	}
	t, err := w.x.taskByID(ctx, id)
	if err != nil {
		return nil
	}
	now := w.x.taskState(ctx, &t)
	if bytes.Equal(now, before) {
		return nil
	}
	w.last[id] = now
	return notification("notifications/tasks", w.tag, now)
}
