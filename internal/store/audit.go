package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/beeos/beeos"
)

// AuditRow is one line of the audit trail: who did what to what. Detail must
// not hold secrets.
type AuditRow struct {
	ID      string
	OwnerID string // whose trail it belongs to; "" = the system's
	At      time.Time
	Actor   string
	Action  string
	Subject string
	Detail  map[string]string
}

// Audit adds a line; ID and At are filled in when they are empty.
func (db *DB) Audit(ctx context.Context, r AuditRow) error {
	unlock, err := db.LockWriter(ctx)
	if err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	defer unlock()
	return insertAudit(ctx, db, r)
}

func insertAudit(ctx context.Context, q querier, r AuditRow) error {
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
		r.ID, r.OwnerID, micros(r.At), r.Actor, r.Action, r.Subject, string(detail))
	if err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	return nil
}

const auditColumns = "SELECT id, owner_id, at, actor, action, subject, detail FROM audit "

// AuditRows returns the newest lines of an owner's trail, newest first; ""
// means everybody's.
func (db *DB) AuditRows(ctx context.Context, owner string, limit int) ([]AuditRow, error) {
	if owner == "" {
		return db.auditRows(ctx, "ORDER BY at DESC, id DESC LIMIT $1", limit)
	}
	return db.auditRows(ctx, "WHERE owner_id = $2 ORDER BY at DESC, id DESC LIMIT $1", limit, owner)
}

// AuditBefore is the page of an owner's trail that follows the line with the
// given id; NotFound when the owner has no such line.
func (db *DB) AuditBefore(ctx context.Context, owner, id string, limit int) ([]AuditRow, error) {
	var at int64
	err := db.QueryRowContext(ctx, "SELECT at FROM audit WHERE owner_id = $1 AND id = $2", owner, id).Scan(&at)
	if Absent(err) {
		return nil, notFound("audit line")
	}
	if err != nil {
		return nil, fmt.Errorf("read the audit trail: %w", err)
	}
	return db.auditRows(ctx, "WHERE owner_id = $2 AND (at, id) < ($3, $4) ORDER BY at DESC, id DESC LIMIT $1", limit, owner, at, id)
}

func (db *DB) auditRows(ctx context.Context, where string, args ...any) ([]AuditRow, error) {
	rows, err := db.QueryContext(ctx, auditColumns+where, args...)
	list, err := collect(rows, err, func(row scanner) (r AuditRow, err error) {
		var at int64
		var detail string
		if err = row.Scan(&r.ID, &r.OwnerID, &at, &r.Actor, &r.Action, &r.Subject, &detail); err != nil {
			return r, err
		}
		r.At = moment(at)
		return r, json.Unmarshal([]byte(detail), &r.Detail)
	})
	if err != nil {
		return nil, fmt.Errorf("read the audit trail: %w", err)
	}
	return list, nil
}
