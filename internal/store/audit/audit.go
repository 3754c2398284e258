// Package audit keeps who did what to which thing, and when.
package audit

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store/database"
)

// Table keeps who did what.
type Table struct{ db *database.DB }

// New returns the tables of db.
func New(db *database.DB) *Table { return &Table{db: db} }

// Row is one line of the audit trail: who did what to what. Detail must
// not hold secrets.
type Row struct {
	ID      string
	OwnerID string // whose trail it belongs to; "" = the system's
	At      time.Time
	Actor   string
	Action  string
	Subject string
	Detail  map[string]string
}

// Add adds a line; ID and At are filled in when they are empty.
func (tb *Table) Add(ctx context.Context, r Row) error {
	unlock, err := tb.db.LockWriter(ctx)
	if err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	defer unlock()
	return Insert(ctx, tb.db, r)
}

func Insert(ctx context.Context, q database.Querier, r Row) error {
	if r.ID == "" {
		r.ID = beeos.NewID()
	}
	if r.At.IsZero() {
		r.At = time.Now()
	}
	detail, err := json.Marshal(r.Detail)
	if err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	_, err = q.ExecContext(ctx, "INSERT INTO audit (id, owner_id, at, actor, action, subject, detail) VALUES ($1, $2, $3, $4, $5, $6, $7)",
		r.ID, r.OwnerID, database.Micros(r.At), r.Actor, r.Action, r.Subject, string(detail))
	if err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	return nil
}

const auditColumns = "SELECT id, owner_id, at, actor, action, subject, detail FROM audit "

// List returns the newest lines of an owner's trail, newest first; ""
// means everybody's.
func (tb *Table) List(ctx context.Context, owner string, limit int) ([]Row, error) {
	if owner == "" {
		return tb.auditRows(ctx, "ORDER BY at DESC, id DESC LIMIT $1", limit)
	}
	return tb.auditRows(ctx, "WHERE owner_id = $2 ORDER BY at DESC, id DESC LIMIT $1", limit, owner)
}

// ListBefore is the page of an owner's trail that follows the line with the
// given id; NotFound when the owner has no such line.
func (tb *Table) ListBefore(ctx context.Context, owner, id string, limit int) ([]Row, error) {
	var at int64
	err := tb.db.QueryRowContext(ctx, "SELECT at FROM audit WHERE owner_id = $1 AND id = $2", owner, id).Scan(&at)
	if database.IsAbsent(err) {
		return nil, database.NotFound("audit line")
	}
	if err != nil {
		return nil, fmt.Errorf("read the audit trail: %w", err)
	}
	return tb.auditRows(ctx, "WHERE owner_id = $2 AND (at, id) < ($3, $4) ORDER BY at DESC, id DESC LIMIT $1", limit, owner, at, id)
}

func (tb *Table) auditRows(ctx context.Context, where string, args ...any) ([]Row, error) {
	rows, err := tb.db.QueryContext(ctx, auditColumns+where, args...)
	list, err := database.Collect(rows, err, func(row database.Scanner) (r Row, err error) {
		var at int64
		var detail string
		if err = row.Scan(&r.ID, &r.OwnerID, &at, &r.Actor, &r.Action, &r.Subject, &detail); err != nil {
			return r, err
		}
		r.At = database.Moment(at)
		return r, json.Unmarshal([]byte(detail), &r.Detail)
	})
	if err != nil {
		return nil, fmt.Errorf("read the audit trail: %w", err)
	}
	return list, nil
}
