package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/beeos/beeos"
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
func (db *DB) CreateLink(ctx context.Context, l Link, hash []byte) error {
	if err := checkName("e-mail address", l.Email, 0); err != nil {
		return err
	}
	l.Email = foldEmail(l.Email)
	err := db.Tx(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "DELETE FROM links WHERE kind = $1 AND (kind = 'setup' OR email = $2 AND user_id = $3)", string(l.Kind), l.Email, l.UserID)
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, "INSERT INTO links (hash, "+linkColumns+") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
			hash, l.ID, string(l.Kind), l.UserID, l.Email, l.Admin, l.MadeBy, micros(l.CreatedAt), micros(l.ExpiresAt))
		return err
	})
	if err != nil {
		return fmt.Errorf("create link: %w", err)
	}
	return nil
}

// LinkByHash returns a link that can still be used.
func (db *DB) LinkByHash(ctx context.Context, hash []byte, now time.Time) (Link, error) {
	l, err := scanLink(db.QueryRowContext(ctx, "SELECT "+linkColumns+" FROM links WHERE hash = $1 AND expires_at > $2", hash, micros(now)))
	if Absent(err) {
		return Link{}, usedLink()
	}
	if err != nil {
		return Link{}, fmt.Errorf("read link: %w", err)
	}
	return l, nil
}

// Invitations returns the invitations that nobody has taken up, the newest
// first.
func (db *DB) Invitations(ctx context.Context, now time.Time) ([]Link, error) {
	rows, err := db.QueryContext(ctx, "SELECT "+linkColumns+" FROM links WHERE kind = $1 AND expires_at > $2 ORDER BY created_at DESC, id DESC",
		string(InviteLink), micros(now))
	list, err := collect(rows, err, scanLink)
	if err != nil {
		return nil, fmt.Errorf("list invitations: %w", err)
	}
	return list, nil
}

// DropInvitation takes an invitation back.
func (db *DB) DropInvitation(ctx context.Context, id string) error {
	res, err := db.write(ctx, "DELETE FROM links WHERE kind = $1 AND id = $2", string(InviteLink), id)
	if err != nil && !Absent(err) {
		return fmt.Errorf("drop invitation: %w", err)
	}
	if err == nil {
		if n, err := res.RowsAffected(); err != nil || n > 0 {
			return err
		}
	}
	return notFound("invitation")
}

// AcceptLink uses a link up and makes the person that it promises, or changes
// theirs: of who, the name, the address and the password's hash count where
// the link leaves them open. Of several who use it at once one succeeds; a
// failure leaves the link as it was.
func (db *DB) AcceptLink(ctx context.Context, hash []byte, who beeos.User, now time.Time) (u beeos.User, l Link, err error) {
	err = db.Tx(ctx, func(tx *sql.Tx) error {
		l, err = scanLink(tx.QueryRowContext(ctx, "DELETE FROM links WHERE hash = $1 AND expires_at > $2 RETURNING "+linkColumns, hash, micros(now)))
		if Absent(err) {
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
	case Absent(err):
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
	if Absent(err) {
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

func scanLink(row scanner) (l Link, err error) {
	var created, expires int64
	err = row.Scan(&l.ID, &l.Kind, &l.UserID, &l.Email, &l.Admin, &l.MadeBy, &created, &expires)
	l.CreatedAt, l.ExpiresAt = moment(created), moment(expires)
	return l, err
}
