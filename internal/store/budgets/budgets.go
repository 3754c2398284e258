// Package budgets keeps how much calls may take in a day or a month, and how much
// of that is drawn (draw.go) or was taken (count.go).
package budgets

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store/database"
)

// Table keeps budgets.
type Table struct{ db *database.DB }

// New returns the table of db.
func New(db *database.DB) *Table { return &Table{db: db} }

// Kind is what a budget is for.
type Kind string

const (
	OfAgent Kind = "agent" // all calls to it
	OfKey   Kind = "key"   // all calls with it
	OfApp   Kind = "app"   // all calls of it; its id is that of the grant
	OfUser  Kind = "user"  // all calls of theirs, with whichever key or app
)

// Kinds are all of them.
func Kinds() []Kind { return []Kind{OfAgent, OfKey, OfApp, OfUser} }

// Unit is what is counted.
type Unit string

const (
	Calls  Unit = "calls"
	Tokens Unit = "tokens"
	Money  Unit = "usd" // in millionths of a dollar
)

// Units are all of them.
func Units() []Unit { return []Unit{Calls, Tokens, Money} }

// Scale is how many of what is stored are one that people speak of.
func (u Unit) Scale() float64 {
	if u == Money {
		return 1e6
	}
	return 1
}

// Noun is what n of them are called.
func (u Unit) Noun(n int64) string {
	if n == 1 {
		return strings.TrimSuffix(string(u), "s")
	}
	return string(u)
}

// Amount is an amount that people have named as it is stored.
func (u Unit) Amount(n float64) (int64, error) {
	scaled := n * u.Scale()
	if !(scaled > 0 && scaled <= MaxAmount) || u != Money && scaled != math.Trunc(scaled) {
		return 0, beeos.Errorf(beeos.InvalidParam, "a limit is a whole number of %s from 1 to %.0f; of usd, parts of one will do", u, MaxAmount/u.Scale())
	}
	return max(1, int64(math.Round(scaled))), nil
}

// MaxAmount bounds what a budget can be, as it is stored.
const MaxAmount = 1e15

// Period is how long a budget lasts; it begins at midnight UTC.
type Period string

const (
	Day   Period = "day"
	Month Period = "month"
)

// Periods are all of them.
func Periods() []Period { return []Period{Day, Month} }

// Span is the period that a moment is in.
func (p Period) Span(now time.Time) (began, ends time.Time) {
	y, m, d := now.UTC().Date()
	if p == Month {
		began = time.Date(y, m, 1, 0, 0, 0, 0, time.UTC)
		return began, began.AddDate(0, 1, 0)
	}
	began = time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
	return began, began.AddDate(0, 0, 1)
}

// Subject is what a budget is for.
type Subject struct {
	Kind Kind
	ID   string
}

// Budget is how much may be taken.
type Budget struct {
	ID      string
	OwnerID string // who set it, and is asked
	Subject
	Unit      Unit
	Period    Period
	Most      int64
	WarnAt    int64 // percent; 0 = never
	Ask       bool  // the owner, instead of refusing
	CreatedAt time.Time
}

// String names a budget as people do.
func (b *Budget) String() string {
	what := fmt.Sprintf("%d %s", b.Most, b.Unit.Noun(b.Most))
	if b.Unit == Money {
		what = fmt.Sprintf("$%.2f", float64(b.Most)/1e6)
	}
	return fmt.Sprintf("%s a %s for this %s", what, b.Period, b.Kind)
}

const columns = "id, owner_id, kind, subject, unit, period, most, warn_at, ask, created_at"

func fields(b *Budget) []any {
	return []any{&b.ID, &b.OwnerID, &b.Kind, &b.Subject.ID, &b.Unit, &b.Period, &b.Most, &b.WarnAt, &b.Ask, database.Time(&b.CreatedAt)}
}

// Set adds a budget, or changes how much the one of the same subject, unit and
// period allows. What was drawn on it stays.
func (t *Table) Set(ctx context.Context, b Budget) (Budget, error) {
	return database.Tx(ctx, t.db, "set budget", func(tx *sql.Tx) (Budget, error) {
		return database.Get(ctx, tx, "set budget", nil, fields, `INSERT INTO budgets (`+columns+`, began, drawn, drawn_at, took, per_call, counted, counted_to, warned, beyond)
			VALUES (`+database.Placeholders(1, 10)+`, 0, 0, 0, 0, 0, 0, 0, FALSE, FALSE)
			ON CONFLICT (kind, subject, unit, period) DO UPDATE SET owner_id = excluded.owner_id, most = excluded.most, warn_at = excluded.warn_at, ask = excluded.ask, warned = FALSE, beyond = FALSE
			RETURNING `+columns,
			b.ID, b.OwnerID, b.Kind, b.Subject.ID, b.Unit, b.Period, b.Most, b.WarnAt, b.Ask, database.Micros(b.CreatedAt))
	})
}

// List lists the budgets of an owner, or all, oldest first.
func (t *Table) List(ctx context.Context, ownerID string) ([]Budget, error) {
	var c database.Conditions
	c.AddUnlessEmpty("owner_id = ?", ownerID)
	return database.List(ctx, t.db, "list budgets", fields, "SELECT "+columns+" FROM budgets"+c.SQL()+" ORDER BY id", c.Args...)
}

// Get returns one.
func (t *Table) Get(ctx context.Context, id string) (Budget, error) {
	return database.Get(ctx, t.db, "read budget", database.NotFound("budget"), fields, "SELECT "+columns+" FROM budgets WHERE id = $1", id)
}

// Delete removes one.
func (t *Table) Delete(ctx context.Context, id string) error {
	return database.ChangeOne(ctx, t.db, "delete budget", database.NotFound("budget"), "DELETE FROM budgets WHERE id = $1", id)
}

// Parse returns the one of a list that has this name.
func Parse[T ~string](what, name string, list []T) (T, error) {
	for _, v := range list {
		if string(v) == name {
			return v, nil
		}
	}
	return "", beeos.Errorf(beeos.InvalidParam, "%s must be one of %v", what, list)
}
