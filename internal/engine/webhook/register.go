package webhook

import (
	"context"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/courier"
	"github.com/beeos/beeos/internal/store/outbox"
	"github.com/beeos/beeos/internal/store/webhooks"
	"github.com/beeos/beeos/internal/wire/outbound"
)

const maxPerTask = 10

// Registration is a webhook to be. The task's owner has been checked.
type Registration struct {
	Turn    string
	Channel string
	Offset  int64 // of the task's request: from there on everything is told
	Owner   string
	Format  string
	URL     string
	Token   string // sent as Authorization, when set
	Scheme  string // of the Authorization; empty = Bearer
	Note    string // sent as X-A2A-Notification-Token, when set
	Name    string // its owner's name for it, when set
	Secret  string // signs what is sent, when set
}

// Register adds a webhook to a task. It is told every change since the task
// began, so it does not matter how fast somebody registers. The same URL again
// replaces token and secret; the old secret signs along for a day.
func (h *Hooks) Register(ctx context.Context, r Registration) (webhooks.Webhook, error) {
	if err := h.Check(ctx, &r); err != nil {
		return webhooks.Webhook{}, err
	}
	now := h.opt.Now()
	w := webhooks.Webhook{
		ID: "wh_" + beeos.NewID(), Turn: r.Turn, Channel: r.Channel, Owner: r.Owner, Renderer: r.Format, URL: r.URL,
		HasSecret: r.Secret != "", Seen: r.Offset, Status: beeos.TaskQueued, Watching: true, CreatedAt: now.UTC(),
	}
	next := credentials{Token: r.Token, Secret: r.Secret, Scheme: r.Scheme, Note: r.Note, Name: r.Name}
	kept, err := h.opt.Webhooks.Put(ctx, w, maxPerTask, func(old *webhooks.Webhook) ([]byte, error) {
		if old == nil {
			return h.seal(w.ID, next)
		}
		c, err := h.unseal(old.ID, old.Sealed)
		if err != nil {
			return nil, err
		}
		return h.seal(old.ID, c.replace(next, now))
	})
	if err == nil {
		h.noteTask(r.Turn, true)
	}
	return kept, err
}

// Check says whether a webhook could be registered, for a task that is not
// there yet: what is refused must not have begun.
func (h *Hooks) Check(ctx context.Context, r *Registration) error {
	if err := checkCredentials(r); err != nil {
		return err
	}
	return outbound.CheckURL(ctx, r.URL, h.reach)
}

func checkCredentials(r *Registration) error {
	for name, text := range map[string]string{"token": r.Token, "token of notifications": r.Note, "scheme": r.Scheme, "id": r.Name} {
		if err := courier.CheckToken(name, text); err != nil {
			return err
		}
	}
	return courier.CheckSecret(r.Secret)
}

// Redeliver sends the bytes of a delivery once more, signed afresh.
func (h *Hooks) Redeliver(ctx context.Context, w webhooks.Webhook, deliveryID string) (outbox.Delivery, error) {
	if _, err := h.opt.Webhooks.GetDelivery(ctx, w.ID, deliveryID); err != nil {
		return outbox.Delivery{}, err
	}
	if w.Disabled {
		return outbox.Delivery{}, beeos.Errorf(beeos.Conflict, "the receiver answered 410, it wants no more; register the webhook again first")
	}
	d, err := h.opt.Webhooks.RepeatDelivery(ctx, w.ID, deliveryID, h.opt.Now())
	h.courier.Wake()
	return d, err
}

// Described is a webhook with what of its credentials may be shown.
type Described struct {
	webhooks.Webhook
	Name   string
	Scheme string
}

// Describe returns the webhooks of a task, oldest first.
func (h *Hooks) Describe(ctx context.Context, turn, format string) ([]Described, error) {
	hooks, err := h.opt.Webhooks.List(ctx, turn, format)
	if err != nil {
		return nil, err
	}
	all := make([]Described, len(hooks))
	for i, w := range hooks {
		c, err := h.unseal(w.ID, w.Sealed)
		if err != nil {
			return nil, err
		}
		all[i] = Described{w, c.Name, c.Scheme}
	}
	return all, nil
}
