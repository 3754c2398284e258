package store

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/beeos/beeos"
)

const userColumns = "id, email, name, password_hash, admin, created_at, disabled_at"

// CreateUser adds a person. E-mail addresses are kept in lower case and are
// unique; a taken one is a Conflict.
func (db *DB) CreateUser(ctx context.Context, u beeos.User) error {
	if u.CreatedAt.IsZero() {
		u.CreatedAt = time.Now()
	}
	unlock, err := db.LockWriter(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	return insertUser(ctx, db, u)
}

func insertUser(ctx context.Context, q querier, u beeos.User) error {
	if u.ID == "" {
		return fmt.Errorf("create user: no id")
	}
	if err := checkPerson(u); err != nil {
		return err
	}
	_, err := q.ExecContext(ctx, "INSERT INTO users ("+userColumns+") VALUES ($1, $2, $3, $4, $5, $6, $7)",
		u.ID, foldEmail(u.Email), u.Name, u.PasswordHash, u.Admin, micros(u.CreatedAt), micros(u.DisabledAt))
	if err := takenEmail(err); err != nil {
		return fmt.Errorf("create user: %w", err)
	}
	return nil
}

func checkPerson(u beeos.User) error {
	if err := checkName("user name", u.Name, 0); err != nil {
		return err
	}
	return checkName("e-mail address", u.Email, 1)
}

// takenEmail says so when somebody else has the address.
func takenEmail(err error) error {
	if duplicate(err) {
		return beeos.Wrap(beeos.Conflict, err, "somebody has this e-mail address already; sign in, or use another address")
	}
	return err
}

// User returns a person by id, disabled or not.
func (db *DB) User(ctx context.Context, id string) (beeos.User, error) {
	return db.user(ctx, "id", id)
}

// UserByEmail returns a person by e-mail address, in any case of letters.
func (db *DB) UserByEmail(ctx context.Context, email string) (beeos.User, error) {
	return db.user(ctx, "email", foldEmail(email))
}

func (db *DB) user(ctx context.Context, column, value string) (beeos.User, error) {
	u, err := scanUser(db.QueryRowContext(ctx, "SELECT "+userColumns+" FROM users WHERE "+column+" = $1", value))
	if Absent(err) {
		return beeos.User{}, notFound("user")
	}
	if err != nil {
		return beeos.User{}, fmt.Errorf("read user: %w", err)
	}
	return u, nil
}

// Users returns everybody, the first comers first.
func (db *DB) Users(ctx context.Context) ([]beeos.User, error) {
	rows, err := db.QueryContext(ctx, "SELECT "+userColumns+" FROM users ORDER BY created_at, id")
	users, err := collect(rows, err, scanUser)
	if err != nil {
		return nil, fmt.Errorf("list users: %w", err)
	}
	return users, nil
}

// SetPassword replaces the hash that a sign-in is checked against.
func (db *DB) SetPassword(ctx context.Context, id, hash string) error {
	return db.changeUser(ctx, "UPDATE users SET password_hash = $2 WHERE id = $1", id, hash)
}

// DisableUser locks a person out, with all keys and instances; a zero time
// lets them in again.
func (db *DB) DisableUser(ctx context.Context, id string, at time.Time) error {
	return db.changeUser(ctx, "UPDATE users SET disabled_at = $2 WHERE id = $1", id, micros(at))
}

func (db *DB) changeUser(ctx context.Context, query string, args ...any) error {
	res, err := db.write(ctx, query, args...)
	if err != nil {
		return fmt.Errorf("change user: %w", err)
	}
	if n, err := res.RowsAffected(); err == nil && n == 0 {
		return notFound("user")
	}
	return nil
}

func scanUser(row scanner) (u beeos.User, err error) {
	var created, disabled int64
	err = row.Scan(&u.ID, &u.Email, &u.Name, &u.PasswordHash, &u.Admin, &created, &disabled)
	u.CreatedAt, u.DisabledAt = moment(created), moment(disabled)
	return u, err
}

func foldEmail(email string) string { return strings.ToLower(strings.TrimSpace(email)) }
