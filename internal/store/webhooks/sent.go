package webhooks

import (
	"context"
	"time"

	"github.com/beeos/beeos/internal/store/database"
	"github.com/beeos/beeos/internal/store/outbox"
)

// ListByDeliveries returns the webhooks of deliveries, by id.
func (tb *Table) ListByDeliveries(ctx context.Context, list []outbox.Delivery) (map[string]Webhook, error) {
	ids := make([]any, len(list))
	for i, d := range list {
		ids[i] = d.Receiver
	}
	where := database.Conditions{}
	where.AddList("w.id", ids)
	found, err := listWebhooks(ctx, tb.db, where.SQL(), where.Args...)
	byID := map[string]Webhook{}
	for _, w := range found {
		byID[w.ID] = w
	}
	return byID, err
}

// Sent is a delivery with the webhook that it goes to, as lists show them: without
// what is sent, the credentials and each attempt.
type Sent struct {
	outbox.Delivery
	Webhook Webhook
}

// SentFilter picks deliveries, newest first.
type SentFilter struct {
	Owners   []string // principals whose webhooks they go to
	Problems bool     // only those that were not taken
	Before   string   // only those made before this one
	Limit    int
}

const sentColumns = "d.id, d.webhook_id, d.status, d.attempts, d.due, d.response, d.error, d.attempted_at, d.created_at, d.completed_at, w.id, w.turn, w.channel, w.owner, w.renderer, w.url, w.disabled"

func sentFields(s *Sent) []any {
	return []any{
		&s.ID, &s.Receiver, &s.Status, &s.Attempts, database.Time(&s.Due), &s.Response, &s.Error, database.Time(&s.AttemptedAt), database.Time(&s.CreatedAt), database.Time(&s.CompletedAt),
		&s.Webhook.ID, &s.Webhook.Turn, &s.Webhook.Channel, &s.Webhook.Owner, &s.Webhook.Renderer, &s.Webhook.URL, &s.Webhook.Disabled,
	}
}

// ListSent returns deliveries to webhooks of some owners.
func (tb *Table) ListSent(ctx context.Context, f SentFilter) ([]Sent, error) {
	owners := make([]any, len(f.Owners))
	for i, o := range f.Owners {
		owners[i] = o
	}
	where := database.Conditions{}
	where.AddList("w.owner", owners)
	where.AddUnlessEmpty("d.id < ?", f.Before)
	if f.Problems {
		where.Text("d.status IN ('failed', 'dead_letter')")
	}
	where.Args = append(where.Args, f.Limit)
	return database.List(ctx, tb.db, "list webhook deliveries", sentFields,
		"SELECT "+sentColumns+" FROM webhook_deliveries d JOIN webhooks w ON w.id = d.webhook_id"+where.SQL()+" ORDER BY d.id DESC LIMIT "+database.Placeholders(len(where.Args), 1), where.Args...)
}

// FindByDelivery returns the webhook that a delivery goes to.
func (tb *Table) FindByDelivery(ctx context.Context, id string) (Webhook, error) {
	return database.Get(ctx, tb.db, "read webhook", database.NotFound("delivery"), webhookFields, webhookSelect+"JOIN webhook_deliveries d ON d.webhook_id = w.id WHERE d.id = $1", id)
}

// ListEndsTaken returns when receivers took the news that a task had ended, which is
// the last that a webhook tells.
func (tb *Table) ListEndsTaken(ctx context.Context, turn string) ([]time.Time, error) {
	return database.List(ctx, tb.db, "read when webhooks were told", func(at *time.Time) []any { return []any{database.Time(at)} },
		`SELECT d.completed_at FROM webhooks w JOIN webhook_deliveries d ON d.webhook_id = w.id AND d.seq = w.events - 1
		WHERE w.turn = $1 AND NOT w.watching AND d.status = 'succeeded' ORDER BY d.completed_at`, turn)
}
