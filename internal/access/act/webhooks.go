package act

import (
	"context"
	"slices"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/task"
	"github.com/beeos/beeos/internal/engine/webhook"
	"github.com/beeos/beeos/internal/store/audit"
	keystore "github.com/beeos/beeos/internal/store/keys"
	"github.com/beeos/beeos/internal/store/outbox"
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
	a.record(ctx, c, c.UserID, audit.WebhookCreate, hook.ID, map[string]string{"task": t.Turn, "agent": t.AgentID})
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
	a.record(ctx, c, c.UserID, audit.WebhookDelete, hook.ID, map[string]string{"task": hook.Turn})
	return nil
}

// Webhook deliveries are for whoever began the task, and those of the tasks that
// were made with a key of an agent for its owner, too.

// WebhookDeliveries lists what was sent to webhooks of the caller's, or is to be.
func (a *Acts) WebhookDeliveries(ctx context.Context, c beeos.Caller, f webhooks.SentFilter) ([]webhooks.Sent, error) {
	owners, err := a.taskOwners(ctx, c)
	if err != nil {
		return nil, err
	}
	f.Owners = owners
	return a.DB.Webhooks.ListSent(ctx, f)
}

// RedeliverWebhook sends a delivery to a webhook of the caller's once more.
func (a *Acts) RedeliverWebhook(ctx context.Context, c beeos.Caller, deliveryID string) (outbox.Delivery, error) {
	owners, err := a.taskOwners(ctx, c)
	if err != nil {
		return outbox.Delivery{}, err
	}
	hook, err := a.DB.Webhooks.FindByDelivery(ctx, deliveryID)
	if err == nil && !slices.Contains(owners, hook.Owner) || isAbsent(err) {
		err = beeos.Errorf(beeos.NotFound, "you have no such webhook delivery; list them to see which you have")
	}
	if err != nil {
		return outbox.Delivery{}, err
	}
	d, err := a.Hooks.Redeliver(ctx, hook, deliveryID)
	if err == nil {
		a.record(ctx, c, c.UserID, audit.WebhookRepeat, hook.ID, map[string]string{"task": hook.Turn, "delivery": deliveryID})
	}
	return d, err
}

// taskOwners are the principals whose tasks are the caller's to see.
func (a *Acts) taskOwners(ctx context.Context, c beeos.Caller) ([]string, error) {
	switch c.Kind {
	case beeos.ByAgentKey:
		return []string{c.Principal()}, nil
	case beeos.ByUserKey, beeos.BySession:
	default:
		return nil, RequirePerson(c)
	}
	keys, err := a.DB.Keys.List(ctx, keystore.Filter{Owner: c.UserID, Kind: beeos.AgentKey}) // revoked ones, too: what was called with them outlives them
	owners := []string{c.Principal()}
	for _, k := range keys {
		owners = append(owners, keyPrincipal(k.ID))
	}
	return owners, err
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
