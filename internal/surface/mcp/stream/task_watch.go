package stream

import (
	"bytes"
	"context"

	"github.com/beeos/beeos/internal/surface/mcp/call"
)

// OwnTasks are those of the ids that are tasks of this caller's, as a follower
// watches them: the client knows nothing of them yet.
func OwnTasks(ctx context.Context, x *call.Client, ids []string) map[string][]byte {
	tasks := map[string][]byte{}
	for _, id := range ids {
		if _, err := x.TaskByID(ctx, id); err == nil {
			tasks[id] = nil
		}
	}
	return tasks
}

// notifyTask tells the client about a task that is not as it was.
func (f *Follower) notifyTask(ctx context.Context, id string) {
	t, err := f.Client.TaskByID(ctx, id)
	if err != nil {
		return
	}
	if now := f.Client.TaskState(ctx, &t); !bytes.Equal(now, f.Tasks[id]) {
		f.Tasks[id] = now
		f.Notify("notifications/tasks", now) //nolint:errcheck // deliver returns it
	}
}
