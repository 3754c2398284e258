//go:build unix

package load

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/test/chaos/history"
)

// task is one that was stored, and whose end is not known yet.
type task struct {
	op *history.Op
	id string
}

// makeTasks gives the agent work and goes on; settle looks after it.
func (l *Load) makeTasks(ctx context.Context, rng *rand.Rand) {
	for ctx.Err() == nil {
		op, n := l.newOp(history.Task, rng.IntN(2) == 0, "plain"), l.node(rng)
		c, id := l.client(n), ""
		l.try(ctx, n, op, func(ctx context.Context) (answer, error) {
			t, err := c.CreateTask(ctx, l.agent, client.TaskRequest{Message: op.Text, IdempotencyKey: op.Key})
			if err != nil {
				return answer{}, err
			}
			id = t.ID
			return answer{text: history.Echoed(op.Text)}, nil
		})
		if op.Outcome != history.OK {
			op.Key = "" // what was not acknowledged is nobody's
			l.end(ctx, op)
			continue
		}
		op.Stored = id
		if rng.IntN(4) == 0 {
			hooking, cancel := context.WithTimeout(context.WithoutCancel(ctx), allowed)
			_, err := c.AddWebhook(hooking, l.agent, id, client.WebhookRequest{URL: l.receiver.URL})
			cancel()
			op.Webhook = err == nil
		}
		l.mu.Lock()
		l.tasks = append(l.tasks, &task{op, id})
		l.mu.Unlock()
		wait(ctx, rest)
	}
}

// lookAt reads how a task stands; true once it has ended.
func (l *Load) lookAt(ctx context.Context, t *task, rng *rand.Rand) bool {
	ctx, cancel := context.WithTimeout(ctx, allowed)
	defer cancel()
	now, err := l.client(l.node(rng)).Task(ctx, l.agent, t.id)
	switch {
	case err != nil:
		t.op.Outcome, t.op.Error = history.Refused, err.Error()
		return false
	case !now.Status.Terminal():
		t.op.Outcome, t.op.Error = history.Refused, fmt.Sprintf("it is %s", now.Status)
		return false
	case now.Status == beeos.TaskCompleted && now.Result != nil:
		t.op.Outcome, t.op.Answer, t.op.Error = history.OK, now.Result.Text, ""
	default:
		t.op.Outcome, t.op.Error = history.Told, fmt.Sprintf("%s: %s", now.Status, now.Error)
	}
	return true
}
