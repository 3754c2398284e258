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
	return insertUser(ctx, tb.db, u)
}

func insertUser(ctx context.Context, q database.Querier, u beeos.User) error {
	if u.ID == "" {
		return fmt.Errorf("create user: no id")
	}
	if err := checkPerson(u); err != nil {
		return err
	}
	u.Email = foldEmail(u.Email)
	return takenEmail(database.Insert(ctx, q, "create user", "users", userColumns, userFields(&u)...))
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
	return getUser(ctx, tb.db, database.NotFound("user"), "id = $1", id)
}

// GetUserByEmail returns a person by e-mail address, in any case of letters.
func (tb *Table) GetUserByEmail(ctx context.Context, email string) (beeos.User, error) {
	return getUser(ctx, tb.db, database.NotFound("user"), "email = $1", foldEmail(email))
}

func getUser(ctx context.Context, q database.Querier, none error, where string, args ...any) (beeos.User, error) {
	return database.Get(ctx, q, "read user", none, userFields, "SELECT "+userColumns+" FROM users WHERE "+where, args...)
}

// ListUsers returns everybody, the first comers first.
func (tb *Table) ListUsers(ctx context.Context) ([]beeos.User, error) {
	return database.List(ctx, tb.db, "list users", userFields, "SELECT "+userColumns+" FROM users ORDER BY created_at, id")
}

// changeUser changes one column of a person.
func changeUser(ctx context.Context, q database.Querier, id, column string, value any) error {
	return database.ChangeOne(ctx, q, "change user", database.NotFound("user"), "UPDATE users SET "+column+" = $2 WHERE id = $1", id, value)
}

func userFields(u *beeos.User) []any {
	return []any{&u.ID, &u.Email, &u.Name, &u.PasswordHash, &u.Admin, database.Time(&u.CreatedAt), database.Time(&u.DisabledAt)}
}

func foldEmail(email string) string { return strings.ToLower(strings.TrimSpace(email)) }
