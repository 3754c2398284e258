// Package people keeps users and how they sign in: passwords, identities at
// outside providers, one-time links, sessions of the console, and failed
// attempts.
package people

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store/database"
)

// Table keeps users and how they sign in.
type Table struct{ db *database.DB }

// New returns the tables of db.
func New(db *database.DB) *Table { return &Table{db: db} }

const userColumns = "id, email, name, password_hash, admin, created_at, disabled_at"

// CreateUser adds a person. E-mail addresses are kept in lower case and are
// unique; a taken one is a Conflict.
func (tb *Table) CreateUser(ctx context.Context, u beeos.User) error {
	if u.CreatedAt.IsZero() {
		u.CreatedAt = time.Now()
	}
	unlock, err := tb.db.LockWriter(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	return insertUser(ctx, tb.db, u)
}

func insertUser(ctx context.Context, q database.Querier, u beeos.User) error {
	if u.ID == "" {
		return fmt.Errorf("create user: no id")
	}
	if err := checkPerson(u); err != nil {
		return err
	}
	_, err := q.ExecContext(ctx, "INSERT INTO users ("+userColumns+") VALUES ($1, $2, $3, $4, $5, $6, $7)",
		u.ID, foldEmail(u.Email), u.Name, u.PasswordHash, u.Admin, database.Micros(u.CreatedAt), database.Micros(u.DisabledAt))
	if err := takenEmail(err); err != nil {
		return fmt.Errorf("create user: %w", err)
	}
	return nil
}

func checkPerson(u beeos.User) error {
	if err := database.CheckName("user name", u.Name, 0); err != nil {
		return err
	}
	return database.CheckName("e-mail address", u.Email, 1)
}

// takenEmail says so when somebody else has the address.
func takenEmail(err error) error {
	if database.IsDuplicate(err) {
		return beeos.Wrap(beeos.Conflict, err, "somebody has this e-mail address already; sign in, or use another address")
	}
	return err
}

// GetUser returns a person by id, disabled or not.
func (tb *Table) GetUser(ctx context.Context, id string) (beeos.User, error) {
	return tb.user(ctx, "id", id)
}

// GetUserByEmail returns a person by e-mail address, in any case of letters.
func (tb *Table) GetUserByEmail(ctx context.Context, email string) (beeos.User, error) {
	return tb.user(ctx, "email", foldEmail(email))
}

func (tb *Table) user(ctx context.Context, column, value string) (beeos.User, error) {
	u, err := scanUser(tb.db.QueryRowContext(ctx, "SELECT "+userColumns+" FROM users WHERE "+column+" = $1", value))
	if database.IsAbsent(err) {
		return beeos.User{}, database.NotFound("user")
	}
	if err != nil {
		return beeos.User{}, fmt.Errorf("read user: %w", err)
	}
	return u, nil
}

// ListUsers returns everybody, the first comers first.
func (tb *Table) ListUsers(ctx context.Context) ([]beeos.User, error) {
	rows, err := tb.db.QueryContext(ctx, "SELECT "+userColumns+" FROM users ORDER BY created_at, id")
	users, err := database.Collect(rows, err, scanUser)
	if err != nil {
		return nil, fmt.Errorf("list users: %w", err)
	}
	return users, nil
}

// SetPassword replaces the hash that a sign-in is checked against.
func (tb *Table) SetPassword(ctx context.Context, id, hash string) error {
	return tb.changeUser(ctx, "UPDATE users SET password_hash = $2 WHERE id = $1", id, hash)
}

// DisableUser locks a person out, with all keys and instances; a zero time
// lets them in again.
func (tb *Table) DisableUser(ctx context.Context, id string, at time.Time) error {
	return tb.changeUser(ctx, "UPDATE users SET disabled_at = $2 WHERE id = $1", id, database.Micros(at))
}

func (tb *Table) changeUser(ctx context.Context, query string, args ...any) error {
	res, err := tb.db.Write(ctx, query, args...)
	if err != nil {
		return fmt.Errorf("change user: %w", err)
	}
	if n, err := res.RowsAffected(); err == nil && n == 0 {
		return database.NotFound("user")
	}
	return nil
}

func scanUser(row database.Scanner) (u beeos.User, err error) {
	var created, disabled int64
	err = row.Scan(&u.ID, &u.Email, &u.Name, &u.PasswordHash, &u.Admin, &created, &disabled)
	u.CreatedAt, u.DisabledAt = database.Moment(created), database.Moment(disabled)
	return u, err
}

func foldEmail(email string) string { return strings.ToLower(strings.TrimSpace(email)) }
