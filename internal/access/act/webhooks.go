package act

import (
	"context"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/task"
	"github.com/beeos/beeos/internal/engine/webhook"
	"github.com/beeos/beeos/internal/store/webhooks"
)

// RegisterWebhook lets a receiver be told how a task of the caller's goes. An
// agent key has tasks, too. Another registration of the same name takes the
// place of the first.
func (a *Acts) RegisterWebhook(ctx context.Context, c beeos.Caller, t *task.Task, r webhook.Registration) (webhooks.Webhook, error) {
	if err := ownTask(c, t.Caller); err != nil {
		return webhooks.Webhook{}, err
	}
	r.Turn, r.Channel, r.Offset, r.Owner = t.Turn, t.Channel, t.Offset, t.Caller
	hook, err := a.Hooks.Register(ctx, r)
	if err != nil {
		return hook, err
	}
	a.record(ctx, c, c.UserID, WebhookCreate, hook.ID, map[string]string{"task": t.Turn, "agent": t.AgentID})
	return hook, nil
}

// DeleteWebhook ends what a webhook is told.
func (a *Acts) DeleteWebhook(ctx context.Context, c beeos.Caller, hook webhooks.Webhook) error {
	if err := ownTask(c, hook.Owner); err != nil {
		return err
	}
	if err := a.DB.Webhooks.Delete(ctx, hook.ID); err != nil {
		return err
	}
	a.record(ctx, c, c.UserID, WebhookDelete, hook.ID, map[string]string{"task": hook.Turn})
	return nil
}

// ownTask refuses whoever did not begin a task.
func ownTask(c beeos.Caller, principal string) error {
	switch c.Kind {
	case beeos.ByUserKey, beeos.BySession, beeos.ByAgentKey:
		if c.Principal() == principal {
			return nil
		}
	}
	return beeos.Errorf(beeos.NotFound, "you have no such task; list your tasks to see which you have")
}
