package webhooks

import (
	"context"
	"fmt"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store/database"
)

// DeliveryStatus is how a webhook delivery stands.
type DeliveryStatus string

const (
	DeliveryPending   DeliveryStatus = "pending"     // to be sent
	DeliveryFailed    DeliveryStatus = "failed"      // was sent in vain, will be again
	DeliverySucceeded DeliveryStatus = "succeeded"   // was taken
	DeliveryDead      DeliveryStatus = "dead_letter" // was sent in vain, and will not be again
)

// Delivery is one thing to be told to one webhook.
type Delivery struct {
	ID          string
	WebhookID   string
	Payload     []byte
	Status      DeliveryStatus
	Attempts    int // made so far
	Tries       int // of those, the ones of the current schedule
	Due         time.Time
	Lease       string // names who attempts it now
	Response    int    // last HTTP status; 0 = there was no answer
	Error       string
	History     []Attempt
	AttemptedAt time.Time
	CreatedAt   time.Time
	CompletedAt time.Time
}

// Attempt is what came of one attempt.
type Attempt struct {
	At       time.Time `json:"at"`
	Response int       `json:"response_status"`
	Error    string    `json:"error,omitempty"`
	TookMS   int64     `json:"took_ms"`
}

// maxHistory bounds what is remembered of a delivery that people send again
// and again.
const maxHistory = 50

const deliveryColumns = "id, webhook_id, payload, status, attempts, tries, due, lease, response, error, history, attempted_at, created_at, completed_at"

func deliveryFields(d *Delivery) []any {
	return []any{
		&d.ID, &d.WebhookID, &d.Payload, &d.Status, &d.Attempts, &d.Tries, database.Time(&d.Due), &d.Lease, &d.Response, &d.Error,
		database.JSON(&d.History), database.Time(&d.AttemptedAt), database.Time(&d.CreatedAt), database.Time(&d.CompletedAt),
	}
}

// ListDeliveries returns the newest deliveries of a webhook, newest first.
func (tb *Table) ListDeliveries(ctx context.Context, webhookID string, limit int) ([]Delivery, error) {
	return database.List(ctx, tb.db, "list webhook deliveries", deliveryFields,
		"SELECT "+deliveryColumns+" FROM webhook_deliveries WHERE webhook_id = $1 ORDER BY seq DESC LIMIT $2", webhookID, limit)
}

// GetDelivery returns one delivery of a webhook.
func (tb *Table) GetDelivery(ctx context.Context, webhookID, id string) (Delivery, error) {
	return database.Get(ctx, tb.db, "read webhook delivery", database.NotFound("delivery"), deliveryFields,
		"SELECT "+deliveryColumns+" FROM webhook_deliveries WHERE webhook_id = $1 AND id = $2", webhookID, id)
}

// AnyDue reports whether there is anything to claim. It only reads, for
// the many times when there is not.
func (tb *Table) AnyDue(ctx context.Context, now time.Time) (due bool, err error) {
	return database.GetValue[bool](ctx, tb.db, "look for due webhooks",
		"SELECT EXISTS (SELECT 1 FROM webhook_deliveries WHERE due > 0 AND due <= $1 AND lease_until < $1)", database.Micros(now))
}

// CountUnsent tells how many deliveries are still to be sent, and when the first
// of them is or was due.
func (tb *Table) CountUnsent(ctx context.Context) (unsent int, due time.Time, err error) {
	err = tb.db.QueryRowContext(ctx, "SELECT COUNT(*), COALESCE(MIN(due), 0) FROM webhook_deliveries WHERE due > 0").Scan(&unsent, database.Time(&due))
	if err != nil {
		err = fmt.Errorf("count webhook deliveries: %w", err)
	}
	return unsent, due, err
}

// The first attempts of one webhook happen in order; what has failed once
// holds up nobody. A row that another worker claims this moment is passed over.
const (
	claimDeliveries = `UPDATE webhook_deliveries SET lease = $2, lease_until = $3 WHERE id IN (
		SELECT d.id FROM webhook_deliveries d WHERE d.due > 0 AND d.due <= $1 AND d.lease_until < $1
		AND NOT EXISTS (SELECT 1 FROM webhook_deliveries e WHERE e.webhook_id = d.webhook_id AND e.seq < d.seq AND e.status = 'pending')
		ORDER BY d.due, d.id LIMIT $4`
	claimSQLite   = claimDeliveries + `) RETURNING ` + deliveryColumns
	claimPostgres = claimDeliveries + ` FOR UPDATE SKIP LOCKED) RETURNING ` + deliveryColumns
)

// ClaimDeliveries gives what is due to the worker that names its lease,
// until the lease ends.
func (tb *Table) ClaimDeliveries(ctx context.Context, lease string, now, until time.Time, limit int) ([]Delivery, error) {
	query := claimSQLite
	if tb.db.Postgres {
		query = claimPostgres
	}
	unlock, err := tb.db.LockWriter(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	return database.List(ctx, tb.db, "claim webhook deliveries", deliveryFields, query, database.Micros(now), lease, database.Micros(until), limit)
}

// ListByDeliveries returns the webhooks of deliveries, by id.
func (tb *Table) ListByDeliveries(ctx context.Context, list []Delivery) (map[string]Webhook, error) {
	ids := make([]any, len(list))
	for i, d := range list {
		ids[i] = d.WebhookID
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

// FinishDelivery writes down what came of an attempt, unless its lease
// has gone to somebody else. What was disabled meanwhile is not tried again.
func (tb *Table) FinishDelivery(ctx context.Context, d Delivery) error {
	d.History = d.History[max(0, len(d.History)-maxHistory):]
	return database.Exec(ctx, tb.db, "finish webhook delivery", `UPDATE webhook_deliveries SET status = CAST($3 AS TEXT), attempts = $4, tries = $5, due = $6, lease = '', lease_until = 0,
		response = $7, error = $8, history = $9, attempted_at = $10, completed_at = $11
		WHERE id = $1 AND lease = $2 AND (due > 0 OR CAST($3 AS TEXT) = 'succeeded')`,
		d.ID, d.Lease, d.Status, d.Attempts, d.Tries, database.Micros(d.Due), d.Response, d.Error, database.JSON(&d.History), database.Micros(d.AttemptedAt), database.Micros(d.CompletedAt))
}

// RepeatDelivery makes a delivery due again, with a fresh schedule. It
// is a Conflict for one that is on its way anyway.
func (tb *Table) RepeatDelivery(ctx context.Context, webhookID, id string, now time.Time) (Delivery, error) {
	busy := beeos.Errorf(beeos.Conflict, "this delivery is on its way already; wait for its result")
	err := database.ChangeOne(ctx, tb.db, "repeat webhook delivery", busy, `UPDATE webhook_deliveries SET status = 'pending', tries = 0, due = $3, completed_at = 0
		WHERE webhook_id = $1 AND id = $2 AND status <> 'pending' AND lease_until < $3`, webhookID, id, database.Micros(now))
	if err != nil {
		return Delivery{}, err
	}
	return tb.GetDelivery(ctx, webhookID, id)
}

// Sent is a delivery with the webhook that it goes to, as lists show them: without
// what is sent, the credentials and each attempt.
type Sent struct {
	Delivery
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
		&s.ID, &s.WebhookID, &s.Status, &s.Attempts, database.Time(&s.Due), &s.Response, &s.Error, database.Time(&s.AttemptedAt), database.Time(&s.CreatedAt), database.Time(&s.CompletedAt),
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
