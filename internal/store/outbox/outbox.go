// Package outbox keeps what is to be sent to receivers outside, has been sent or
// was given up: of webhooks of tasks, and of channels of people, each in a table of
// their own.
package outbox

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store/database"
)

// Status is how a delivery stands.
type Status string

const (
	Pending   Status = "pending"     // to be sent
	Failed    Status = "failed"      // was sent in vain, will be again
	Succeeded Status = "succeeded"   // was taken
	Dead      Status = "dead_letter" // was sent in vain, and will not be again
)

// Queue is the deliveries of one kind of receiver.
type Queue struct {
	db      *database.DB
	columns string
	table   string
	of      string // the column that names the receiver

	claim string
}

// New returns the queue in a table whose rows name their receiver in a column.
func New(db *database.DB, table, receiver string) *Queue {
	q := &Queue{db: db, table: table, of: receiver, columns: "id, " + receiver + deliveryColumns}
	q.claim = fmt.Sprintf(claimSQLite, table, receiver)
	if db.Postgres {
		q.claim = fmt.Sprintf(claimPostgres, table, receiver)
	}
	q.claim += " RETURNING " + q.columns
	return q
}

// Delivery is one thing to be told to one receiver.
type Delivery struct {
	ID          string
	Receiver    string
	Payload     []byte
	Status      Status
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

const deliveryColumns = ", payload, status, attempts, tries, due, lease, response, error, history, attempted_at, created_at, completed_at"

func deliveryFields(d *Delivery) []any {
	return []any{
		&d.ID, &d.Receiver, &d.Payload, &d.Status, &d.Attempts, &d.Tries, database.Time(&d.Due), &d.Lease, &d.Response, &d.Error,
		database.JSON(&d.History), database.Time(&d.AttemptedAt), database.Time(&d.CreatedAt), database.Time(&d.CompletedAt),
	}
}

// ListDeliveries returns the newest deliveries of a receiver, newest first.
func (q *Queue) ListDeliveries(ctx context.Context, receiver string, limit int) ([]Delivery, error) {
	return database.List(ctx, q.db, "list deliveries", deliveryFields,
		"SELECT "+q.columns+" FROM "+q.table+" WHERE "+q.of+" = $1 ORDER BY seq DESC LIMIT $2", receiver, limit)
}

// GetDelivery returns one delivery of a receiver.
func (q *Queue) GetDelivery(ctx context.Context, receiver, id string) (Delivery, error) {
	return database.Get(ctx, q.db, "read delivery", database.NotFound("delivery"), deliveryFields,
		"SELECT "+q.columns+" FROM "+q.table+" WHERE "+q.of+" = $1 AND id = $2", receiver, id)
}

// AnyDue reports whether there is anything to claim. It only reads, for
// the many times when there is not.
func (q *Queue) AnyDue(ctx context.Context, now time.Time) (due bool, err error) {
	return database.GetValue[bool](ctx, q.db, "look for due deliveries",
		"SELECT EXISTS (SELECT 1 FROM "+q.table+" WHERE due > 0 AND due <= $1 AND lease_until < $1)", database.Micros(now))
}

// CountUnsent tells how many deliveries are still to be sent, and when the first
// of them is or was due.
func (q *Queue) CountUnsent(ctx context.Context) (unsent int, due time.Time, err error) {
	err = q.db.QueryRowContext(ctx, "SELECT COUNT(*), COALESCE(MIN(due), 0) FROM "+q.table+" WHERE due > 0").Scan(&unsent, database.Time(&due))
	if err != nil {
		err = fmt.Errorf("count deliveries: %w", err)
	}
	return unsent, due, err
}

// The first attempts of one receiver happen in order; what has failed once
// holds up nobody. A row that another worker claims this moment is passed over.
const (
	claimDeliveries = `UPDATE %[1]s SET lease = $2, lease_until = $3 WHERE id IN (
		SELECT d.id FROM %[1]s d WHERE d.due > 0 AND d.due <= $1 AND d.lease_until < $1
		AND NOT EXISTS (SELECT 1 FROM %[1]s e WHERE e.%[2]s = d.%[2]s AND e.seq < d.seq AND e.status = 'pending')
		ORDER BY d.due, d.id LIMIT $4`
	claimSQLite   = claimDeliveries + `)`
	claimPostgres = claimDeliveries + ` FOR UPDATE SKIP LOCKED)`
)

// ClaimDeliveries gives what is due to the worker that names its lease,
// until the lease ends.
func (q *Queue) ClaimDeliveries(ctx context.Context, lease string, now, until time.Time, limit int) ([]Delivery, error) {
	unlock, err := q.db.LockWriter(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	return database.List(ctx, q.db, "claim deliveries", deliveryFields, q.claim, database.Micros(now), lease, database.Micros(until), limit)
}

// FinishDelivery writes down what came of an attempt, unless its lease
// has gone to somebody else. What was disabled meanwhile is not tried again.
func (q *Queue) FinishDelivery(ctx context.Context, d Delivery) error {
	d.History = d.History[max(0, len(d.History)-maxHistory):]
	return database.Exec(ctx, q.db, "finish delivery", "UPDATE "+q.table+` SET status = CAST($3 AS TEXT), attempts = $4, tries = $5, due = $6, lease = '', lease_until = 0,
		response = $7, error = $8, history = $9, attempted_at = $10, completed_at = $11
		WHERE id = $1 AND lease = $2 AND (due > 0 OR CAST($3 AS TEXT) = 'succeeded')`,
		d.ID, d.Lease, d.Status, d.Attempts, d.Tries, database.Micros(d.Due), d.Response, d.Error, database.JSON(&d.History), database.Micros(d.AttemptedAt), database.Micros(d.CompletedAt))
}

// RepeatDelivery makes a delivery due again, with a fresh schedule, and returns it as it
// is then: it may be sent at once. It is a Conflict for one that is on its way anyway.
func (q *Queue) RepeatDelivery(ctx context.Context, receiver, id string, now time.Time) (Delivery, error) {
	busy := beeos.Errorf(beeos.Conflict, "this delivery is on its way already; wait for its result")
	return database.Get(ctx, q.db, "repeat delivery", busy, deliveryFields, "UPDATE "+q.table+` SET status = 'pending', tries = 0, due = $3, completed_at = 0
		WHERE `+q.of+` = $1 AND id = $2 AND status <> 'pending' AND lease_until < $3 RETURNING `+q.columns, receiver, id, database.Micros(now))
}

// Add puts deliveries into the queue of a receiver, due at once; seq is how many it
// has had so far.
func (q *Queue) Add(ctx context.Context, tx *sql.Tx, receiver string, seq int64, news []Delivery, now time.Time) error {
	rows := make([][]any, len(news))
	for i, d := range news {
		rows[i] = []any{d.ID, receiver, seq + int64(i), d.Payload, Pending, 0, 0, database.Micros(now), "", 0, 0, "", "[]", 0, database.Micros(now), 0}
	}
	return database.InsertRows(ctx, tx, q.table,
		"id, "+q.of+", seq, payload, status, attempts, tries, due, lease, lease_until, response, error, history, attempted_at, created_at, completed_at", rows, "")
}

// End gives up everything that is still to be sent to a receiver.
func (q *Queue) End(ctx context.Context, tx *sql.Tx, receiver, why string, now time.Time) error {
	return database.Exec(ctx, tx, "give up deliveries", "UPDATE "+q.table+" SET status = 'dead_letter', due = 0, completed_at = $2, error = $3 WHERE "+q.of+" = $1 AND due > 0",
		receiver, database.Micros(now), why)
}
