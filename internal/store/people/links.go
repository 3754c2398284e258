package people

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store/database"
)

// LinkKind is what a one-time link is good for.
type LinkKind string

const (
	SetupLink  LinkKind = "setup"  // become the first admin
	InviteLink LinkKind = "invite" // become a user
	ResetLink  LinkKind = "reset"  // set a new password
)

// Link is a link that works once, without its secret.
type Link struct {
	ID        string
	Kind      LinkKind
	UserID    string // whom it is for; "" = somebody new
	Email     string // "" = whoever uses it says
	Admin     bool
	MadeBy    string
	CreatedAt time.Time
	ExpiresAt time.Time
}

const linkColumns = "id, kind, user_id, email, admin, made_by, created_at, expires_at"

// CreateLink adds a link in place of older ones for the same purpose: one
// setup, one invitation per address, one reset per person.
func (tb *Table) CreateLink(ctx context.Context, l Link, hash []byte) error {
	if err := database.CheckName("e-mail address", l.Email, 0); err != nil {
		return err
	}
	l.Email = foldEmail(l.Email)
	err := tb.db.Tx(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "DELETE FROM links WHERE kind = $1 AND (kind = 'setup' OR email = $2 AND user_id = $3)", string(l.Kind), l.Email, l.UserID)
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, "INSERT INTO links (hash, "+linkColumns+") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
			hash, l.ID, string(l.Kind), l.UserID, l.Email, l.Admin, l.MadeBy, database.Micros(l.CreatedAt), database.Micros(l.ExpiresAt))
		return err
	})
	if err != nil {
		return fmt.Errorf("create link: %w", err)
	}
	return nil
}

// LinkByHash returns a link that can still be used.
func (tb *Table) LinkByHash(ctx context.Context, hash []byte, now time.Time) (Link, error) {
	l, err := scanLink(tb.db.QueryRowContext(ctx, "SELECT "+linkColumns+" FROM links WHERE hash = $1 AND expires_at > $2", hash, database.Micros(now)))
	if database.IsAbsent(err) {
		return Link{}, usedLink()
	}
	if err != nil {
		return Link{}, fmt.Errorf("read link: %w", err)
	}
	return l, nil
}

// Invitations returns the invitations that nobody has taken up, the newest
// first.
func (tb *Table) Invitations(ctx context.Context, now time.Time) ([]Link, error) {
	rows, err := tb.db.QueryContext(ctx, "SELECT "+linkColumns+" FROM links WHERE kind = $1 AND expires_at > $2 ORDER BY created_at DESC, id DESC",
		string(InviteLink), database.Micros(now))
	list, err := database.Collect(rows, err, scanLink)
	if err != nil {
		return nil, fmt.Errorf("list invitations: %w", err)
	}
	return list, nil
}

// DropInvitation takes an invitation back.
func (tb *Table) DropInvitation(ctx context.Context, id string) error {
	res, err := tb.db.Write(ctx, "DELETE FROM links WHERE kind = $1 AND id = $2", string(InviteLink), id)
	if err != nil && !database.IsAbsent(err) {
		return fmt.Errorf("drop invitation: %w", err)
	}
	if err == nil {
		if n, err := res.RowsAffected(); err != nil || n > 0 {
			return err
		}
	}
	return database.NotFound("invitation")
}

// AcceptLink uses a link up and makes the person that it promises, or changes
// theirs: of who, the name, the address and the password's hash count where
// the link leaves them open. Of several who use it at once one succeeds; a
// failure leaves the link as it was.
func (tb *Table) AcceptLink(ctx context.Context, hash []byte, who beeos.User, now time.Time) (u beeos.User, l Link, err error) {
	err = tb.db.Tx(ctx, func(tx *sql.Tx) error {
		l, err = scanLink(tx.QueryRowContext(ctx, "DELETE FROM links WHERE hash = $1 AND expires_at > $2 RETURNING "+linkColumns, hash, database.Micros(now)))
		if database.IsAbsent(err) {
			return usedLink()
		}
		if err != nil {
			return err
		}
		who.CreatedAt = now
		switch l.Kind {
		case SetupLink:
			u, err = setUp(ctx, tx, l, who)
		case InviteLink:
			who.Email, who.Admin = l.Email, l.Admin
			u, err = who, insertUser(ctx, tx, who)
		case ResetLink:
			u, err = reset(ctx, tx, l, who)
		}
		return err
	})
	if err != nil {
		return beeos.User{}, Link{}, fmt.Errorf("use link: %w", err)
	}
	u.Email = foldEmail(u.Email)
	return u, l, nil
}

// setUp makes the first admin: the person whom the link is for, else who has
// the address already (nobody can sign in, so nobody is robbed), else a new
// one.
func setUp(ctx context.Context, tx *sql.Tx, l Link, who beeos.User) (beeos.User, error) {
	// Two setups that meet must not both find the door open: each wants the
	// other's row.
	if _, err := tx.ExecContext(ctx, "DELETE FROM links WHERE kind = $1", string(SetupLink)); err != nil {
		return who, err
	}
	if taken, err := anyoneCanSignIn(ctx, tx); err != nil || taken {
		return who, errors.Join(err, usedLink())
	}
	query, value := "SELECT "+userColumns+" FROM users WHERE id = $1", l.UserID
	if value == "" {
		query, value = "SELECT "+userColumns+" FROM users WHERE email = $1", foldEmail(who.Email)
	}
	who.Admin = true
	known, err := scanUser(tx.QueryRowContext(ctx, query, value))
	switch {
	case database.IsAbsent(err):
		return who, insertUser(ctx, tx, who)
	case err != nil:
		return who, err
	}
	if err := checkPerson(who); err != nil {
		return who, err
	}
	who.ID, who.CreatedAt = known.ID, known.CreatedAt
	err = oneUser(tx.ExecContext(ctx, "UPDATE users SET email = $2, name = $3, password_hash = $4, admin = TRUE, disabled_at = 0 WHERE id = $1",
		who.ID, foldEmail(who.Email), who.Name, who.PasswordHash))
	return who, takenEmail(err)
}

// reset sets a new password for somebody who is not locked out.
func reset(ctx context.Context, tx *sql.Tx, l Link, who beeos.User) (beeos.User, error) {
	u, err := scanUser(tx.QueryRowContext(ctx, "SELECT "+userColumns+" FROM users WHERE id = $1 AND disabled_at = 0", l.UserID))
	if database.IsAbsent(err) {
		return u, usedLink()
	}
	if err != nil {
		return u, err
	}
	u.PasswordHash = who.PasswordHash
	return u, changePassword(ctx, tx, u.ID, u.PasswordHash)
}

func usedLink() error {
	return beeos.Errorf(beeos.NotFound, "this link has been used or is too old; ask for a new one")
}

func scanLink(row database.Scanner) (l Link, err error) {
	var created, expires int64
	err = row.Scan(&l.ID, &l.Kind, &l.UserID, &l.Email, &l.Admin, &l.MadeBy, &created, &expires)
	l.CreatedAt, l.ExpiresAt = database.Moment(created), database.Moment(expires)
	return l, err
}
