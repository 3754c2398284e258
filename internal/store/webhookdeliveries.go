package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/beeos/beeos"
)

// DeliveryStatus is how a webhook delivery stands.
type DeliveryStatus string

const (
	DeliveryPending   DeliveryStatus = "pending"     // to be sent
	DeliveryFailed    DeliveryStatus = "failed"      // was sent in vain, will be again
	DeliverySucceeded DeliveryStatus = "succeeded"   // was taken
	DeliveryDead      DeliveryStatus = "dead_letter" // was sent in vain, and will not be again
)

// WebhookDelivery is one thing to be told to one webhook.
type WebhookDelivery struct {
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
	History     []DeliveryAttempt
	AttemptedAt time.Time
	CreatedAt   time.Time
	CompletedAt time.Time
}

// DeliveryAttempt is what came of one attempt.
type DeliveryAttempt struct {
	At       time.Time `json:"at"`
	Response int       `json:"response_status"`
	Error    string    `json:"error,omitempty"`
	TookMS   int64     `json:"took_ms"`
}

// maxHistory bounds what is remembered of a delivery that people send again
// and again.
const maxHistory = 50

const webhookDeliveryColumns = "id, webhook_id, payload, status, attempts, tries, due, lease, response, error, history, attempted_at, created_at, completed_at"

func scanWebhookDelivery(row scanner) (d WebhookDelivery, err error) {
	var due, attempted, created, completed int64
	var history string
	err = row.Scan(&d.ID, &d.WebhookID, &d.Payload, &d.Status, &d.Attempts, &d.Tries, &due, &d.Lease, &d.Response, &d.Error, &history,
		&attempted, &created, &completed)
	if err != nil {
		return d, err
	}
	d.Due, d.AttemptedAt, d.CreatedAt, d.CompletedAt = moment(due), moment(attempted), moment(created), moment(completed)
	return d, json.Unmarshal([]byte(history), &d.History)
}

// WebhookDeliveries returns the newest deliveries of a webhook, newest first.
func (db *DB) WebhookDeliveries(ctx context.Context, webhookID string, limit int) ([]WebhookDelivery, error) {
	rows, err := db.QueryContext(ctx, "SELECT "+webhookDeliveryColumns+" FROM webhook_deliveries WHERE webhook_id = $1 ORDER BY seq DESC LIMIT $2", webhookID, limit)
	list, err := collect(rows, err, scanWebhookDelivery)
	if err != nil {
		return nil, fmt.Errorf("list webhook deliveries: %w", err)
	}
	return list, nil
}

// WebhookDelivery returns one delivery of a webhook.
func (db *DB) WebhookDelivery(ctx context.Context, webhookID, id string) (WebhookDelivery, error) {
	d, err := scanWebhookDelivery(db.QueryRowContext(ctx, "SELECT "+webhookDeliveryColumns+" FROM webhook_deliveries WHERE webhook_id = $1 AND id = $2", webhookID, id))
	if Absent(err) {
		return d, notFound("delivery")
	}
	if err != nil {
		return d, fmt.Errorf("read webhook delivery: %w", err)
	}
	return d, nil
}

// WebhooksDue reports whether there is anything to claim. It only reads, for
// the many times when there is not.
func (db *DB) WebhooksDue(ctx context.Context, now time.Time) (due bool, err error) {
	err = db.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM webhook_deliveries WHERE due > 0 AND due <= $1 AND lease_until < $1)", micros(now)).Scan(&due)
	if err != nil {
		return false, fmt.Errorf("look for due webhooks: %w", err)
	}
	return due, nil
}

// The first attempts of one webhook happen in order; what has failed once
// holds up nobody. A row that another worker claims this moment is passed over.
const (
	claimDeliveries = `UPDATE webhook_deliveries SET lease = $2, lease_until = $3 WHERE id IN (
		SELECT d.id FROM webhook_deliveries d WHERE d.due > 0 AND d.due <= $1 AND d.lease_until < $1
		AND NOT EXISTS (SELECT 1 FROM webhook_deliveries e WHERE e.webhook_id = d.webhook_id AND e.seq < d.seq AND e.status = 'pending')
		ORDER BY d.due, d.id LIMIT $4`
	claimSQLite   = claimDeliveries + `) RETURNING ` + webhookDeliveryColumns
	claimPostgres = claimDeliveries + ` FOR UPDATE SKIP LOCKED) RETURNING ` + webhookDeliveryColumns
)

// ClaimWebhookDeliveries gives what is due to the worker that names its lease,
// until the lease ends.
func (db *DB) ClaimWebhookDeliveries(ctx context.Context, lease string, now, until time.Time, limit int) ([]WebhookDelivery, error) {
	query := claimSQLite
	if db.Postgres {
		query = claimPostgres
	}
	unlock, err := db.LockWriter(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	rows, err := db.QueryContext(ctx, query, micros(now), lease, micros(until), limit)
	list, err := collect(rows, err, scanWebhookDelivery)
	if err != nil {
		return nil, fmt.Errorf("claim webhook deliveries: %w", err)
	}
	return list, nil
}

// WebhooksOf returns the webhooks of deliveries, by id.
func (db *DB) WebhooksOf(ctx context.Context, list []WebhookDelivery) (map[string]Webhook, error) {
	ids := make([]any, len(list))
	for i, d := range list {
		ids[i] = d.WebhookID
	}
	where := conditions{}
	where.addList("w.id", ids)
	found, err := db.webhooks(ctx, db, where.sql(), where.args...)
	byID := map[string]Webhook{}
	for _, w := range found {
		byID[w.ID] = w
	}
	return byID, err
}

// FinishWebhookDelivery writes down what came of an attempt, unless its lease
// has gone to somebody else. What was disabled meanwhile is not tried again.
func (db *DB) FinishWebhookDelivery(ctx context.Context, d WebhookDelivery) error {
	history, err := json.Marshal(d.History[max(0, len(d.History)-maxHistory):])
	if err != nil {
		return fmt.Errorf("encode the attempts of a delivery: %w", err)
	}
	_, err = db.write(ctx, `UPDATE webhook_deliveries SET status = CAST($3 AS TEXT), attempts = $4, tries = $5, due = $6, lease = '', lease_until = 0,
		response = $7, error = $8, history = $9, attempted_at = $10, completed_at = $11
		WHERE id = $1 AND lease = $2 AND (due > 0 OR CAST($3 AS TEXT) = 'succeeded')`,
		d.ID, d.Lease, string(d.Status), d.Attempts, d.Tries, micros(d.Due), d.Response, d.Error, string(history), micros(d.AttemptedAt), micros(d.CompletedAt))
	if err != nil {
		return fmt.Errorf("finish webhook delivery: %w", err)
	}
	return nil
}

// RepeatWebhookDelivery makes a delivery due again, with a fresh schedule. It
// is a Conflict for one that is on its way anyway.
func (db *DB) RepeatWebhookDelivery(ctx context.Context, webhookID, id string, now time.Time) (WebhookDelivery, error) {
	busy := beeos.Errorf(beeos.Conflict, "this delivery is on its way already; wait for its result")
	err := db.changeOne(ctx, "repeat webhook delivery", busy, `UPDATE webhook_deliveries SET status = 'pending', tries = 0, due = $3, completed_at = 0
		WHERE webhook_id = $1 AND id = $2 AND status <> 'pending' AND lease_until < $3`, webhookID, id, micros(now))
	if err != nil {
		return WebhookDelivery{}, err
	}
	return db.WebhookDelivery(ctx, webhookID, id)
}
