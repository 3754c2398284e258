package people

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store/database"
)

// Who can get in by themselves, and who may let others in.

// canSignIn holds for a person who has a way in: a password, or an identity
// at an outside provider.
const canSignIn = "disabled_at = 0 AND (password_hash <> '' OR EXISTS (SELECT 1 FROM identities i WHERE i.user_id = users.id))"

// AnyoneCanSignIn reports whether there is somebody who could.
func (tb *Table) AnyoneCanSignIn(ctx context.Context) (bool, error) {
	return anyoneCanSignIn(ctx, tb.db)
}

func anyoneCanSignIn(ctx context.Context, q database.Querier) (bool, error) {
	return database.GetValue[bool](ctx, q, "look for somebody who can sign in", "SELECT EXISTS (SELECT 1 FROM users WHERE "+canSignIn+")")
}

// Lock disables a person and ends their sessions, or, with a zero time, lets
// them in again. The last admin who can sign in stays.
func (tb *Table) Lock(ctx context.Context, id string, at time.Time) error {
	return tb.keepAnAdmin(ctx, "lock user", id, !at.IsZero(), func(tx *sql.Tx) error {
		if !at.IsZero() {
			if err := endWaysIn(ctx, tx, id); err != nil {
				return err
			}
		}
		return changeUser(ctx, tx, id, "disabled_at", database.Time(&at))
	})
}

// SetAdmin makes a person an admin or not. The last admin who can sign in
// stays one.
func (tb *Table) SetAdmin(ctx context.Context, id string, admin bool) error {
	return tb.keepAnAdmin(ctx, "set admin", id, !admin, func(tx *sql.Tx) error {
		return changeUser(ctx, tx, id, "admin", admin)
	})
}

// RenameUser changes the name by which others see a person.
func (tb *Table) RenameUser(ctx context.Context, id, name string) error {
	if err := database.CheckName("user name", name, 1); err != nil {
		return err
	}
	return changeUser(ctx, tb.db, id, "name", name)
}

// keepAnAdmin runs change, unless it would take away the only admin. It locks
// the admins' rows first: two of them must not put each other out at once.
func (tb *Table) keepAnAdmin(ctx context.Context, what, id string, takes bool, change func(*sql.Tx) error) error {
	return tb.db.Tx(ctx, what, func(tx *sql.Tx) error {
		if takes {
			if _, err := tx.ExecContext(ctx, "UPDATE users SET admin = admin WHERE admin"); err != nil {
				return err
			}
			admins, err := database.ListTexts(ctx, tx, "list admins", "SELECT id FROM users WHERE admin AND "+canSignIn)
			if err != nil {
				return err
			}
			if len(admins) == 1 && admins[0] == id {
				return beeos.Errorf(beeos.Conflict, "this is the only admin who can sign in; make somebody else an admin first")
			}
		}
		return change(tx)
	})
}

// ChangePassword replaces a person's password and ends all their sessions.
func (tb *Table) ChangePassword(ctx context.Context, id, hash string) error {
	return tb.db.Tx(ctx, "change password", func(tx *sql.Tx) error { return changePassword(ctx, tx, id, hash) })
}

func changePassword(ctx context.Context, tx *sql.Tx, id, hash string) error {
	if err := endWaysIn(ctx, tx, id); err != nil {
		return err
	}
	return changeUser(ctx, tx, id, "password_hash", hash)
}

// endWaysIn ends a person's sessions, and the link to a new password that they
// may still have.
func endWaysIn(ctx context.Context, tx *sql.Tx, id string) error {
	_, logins := tx.ExecContext(ctx, "DELETE FROM logins WHERE user_id = $1", id)
	_, links := tx.ExecContext(ctx, "DELETE FROM links WHERE kind = $1 AND user_id = $2", ResetLink, id)
	return errors.Join(logins, links)
}
