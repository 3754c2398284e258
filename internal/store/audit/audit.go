// Package audit keeps who did what to which thing, and when.
package audit

import (
	"context"
	"log/slog"
	"strconv"
	"time"
	"unicode/utf8"

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
	Action  string // see actions.go
	Subject string
	Detail  map[string]string
}

// Add adds a line; ID and At are filled in when they are empty.
func (tb *Table) Add(ctx context.Context, r Row) error {
	return Insert(ctx, tb.db, r)
}

// Record is Add for a deed that is done: a failure goes to the log instead of to
// the caller, and a caller who has gone away is written down all the same.
func (tb *Table) Record(ctx context.Context, log *slog.Logger, r Row) {
	if err := tb.Add(context.WithoutCancel(ctx), r); err != nil {
		log.ErrorContext(ctx, "audit row not written", "action", r.Action, "subject", r.Subject, "err", err)
	}
}

// Insert is Add within a transaction.
func Insert(ctx context.Context, q database.Querier, r Row) error {
	if r.ID == "" {
		r.ID = beeos.NewID()
	}
	if r.At.IsZero() {
		r.At = time.Now()
	}
	return database.Insert(ctx, q, "audit", "audit", columns, fields(&r)...)
}

const columns = "id, owner_id, at, actor, action, subject, detail"

func fields(r *Row) []any {
	return []any{&r.ID, &r.OwnerID, database.Time(&r.At), &r.Actor, &r.Action, &r.Subject, database.JSON(&r.Detail)}
}

// List returns the newest lines of an owner's trail, newest first; ""
// means everybody's.
func (tb *Table) List(ctx context.Context, owner string, limit int) ([]Row, error) {
	if owner == "" {
		return tb.list(ctx, "ORDER BY at DESC, id DESC LIMIT $1", limit)
	}
	return tb.list(ctx, "WHERE owner_id = $2 ORDER BY at DESC, id DESC LIMIT $1", limit, owner)
}

// Filter picks lines of the trail; an empty field picks all.
type Filter struct {
	OwnerID      string // whose trail
	Action       string // or how it begins: "key." for all that is done with keys
	Actor        string
	Subject      string
	Since, Until time.Time // from the first moment to just before the second
}

// Find returns the newest lines that the filter picks, newest first.
func (tb *Table) Find(ctx context.Context, f Filter, limit int) ([]Row, error) {
	var where database.Conditions
	where.AddUnlessEmpty("owner_id = ?", f.OwnerID)
	if f.Action != "" {
		where.Add("substr(action, 1, "+strconv.Itoa(utf8.RuneCountInString(f.Action))+") = ?", f.Action)
	}
	where.AddUnlessEmpty("actor = ?", f.Actor)
	where.AddUnlessEmpty("subject = ?", f.Subject)
	if !f.Since.IsZero() {
		where.Add("at >= ?", database.Micros(f.Since))
	}
	if !f.Until.IsZero() {
		where.Add("at < ?", database.Micros(f.Until))
	}
	limits := " ORDER BY at DESC, id DESC LIMIT $" + strconv.Itoa(len(where.Args)+1)
	return tb.list(ctx, where.SQL()+limits, append(where.Args, limit)...)
}

// ListBefore is the page of an owner's trail that follows the line with the
// given id; NotFound when the owner has no such line.
func (tb *Table) ListBefore(ctx context.Context, owner, id string, limit int) ([]Row, error) {
	at, err := database.Get(ctx, tb.db, "read the audit trail", database.NotFound("audit line"), database.Itself[int64], "SELECT at FROM audit WHERE owner_id = $1 AND id = $2", owner, id)
	if err != nil {
		return nil, err
	}
	return tb.list(ctx, "WHERE owner_id = $2 AND (at, id) < ($3, $4) ORDER BY at DESC, id DESC LIMIT $1", limit, owner, at, id)
}

func (tb *Table) list(ctx context.Context, where string, args ...any) ([]Row, error) {
	return database.List(ctx, tb.db, "read the audit trail", fields, "SELECT "+columns+" FROM audit "+where, args...)
}
