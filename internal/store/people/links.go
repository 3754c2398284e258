package people

import (
	"context"
	"database/sql"
	"errors"
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
	return tb.db.Tx(ctx, "create link", func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "DELETE FROM links WHERE kind = $1 AND (kind = 'setup' OR email = $2 AND user_id = $3)", l.Kind, l.Email, l.UserID)
		if err != nil {
			return err
		}
		return database.Insert(ctx, tx, "insert link", "links", "hash, "+linkColumns, append([]any{hash}, linkFields(&l)...)...)
	})
}

// LinkByHash returns a link that can still be used.
func (tb *Table) LinkByHash(ctx context.Context, hash []byte, now time.Time) (Link, error) {
	return database.Get(ctx, tb.db, "read link", usedLink(), linkFields, "SELECT "+linkColumns+" FROM links WHERE hash = $1 AND expires_at > $2", hash, database.Micros(now))
}

// takeLink uses a link up and returns it.
func takeLink(ctx context.Context, tx *sql.Tx, none error, where string, args ...any) (Link, error) {
	return database.Get(ctx, tx, "take link", none, linkFields, "DELETE FROM links WHERE "+where+" RETURNING "+linkColumns, args...)
}

// Invitations returns the invitations that nobody has taken up, the newest
// first.
func (tb *Table) Invitations(ctx context.Context, now time.Time) ([]Link, error) {
	return database.List(ctx, tb.db, "list invitations", linkFields, "SELECT "+linkColumns+" FROM links WHERE kind = $1 AND expires_at > $2 ORDER BY created_at DESC, id DESC",
		InviteLink, database.Micros(now))
}

// DropInvitation takes an invitation back.
func (tb *Table) DropInvitation(ctx context.Context, id string) error {
	return database.ChangeOne(ctx, tb.db, "drop invitation", database.NotFound("invitation"), "DELETE FROM links WHERE kind = $1 AND id = $2", InviteLink, id)
}

// AcceptLink uses a link up and makes the person that it promises, or changes
// theirs: of who, the name, the address and the password's hash count where
// the link leaves them open. Of several who use it at once one succeeds; a
// failure leaves the link as it was.
func (tb *Table) AcceptLink(ctx context.Context, hash []byte, who beeos.User, now time.Time) (u beeos.User, l Link, err error) {
	err = tb.db.Tx(ctx, "use link", func(tx *sql.Tx) error {
		l, err = takeLink(ctx, tx, usedLink(), "hash = $1 AND expires_at > $2", hash, database.Micros(now))
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
			u, err = resetPassword(ctx, tx, l, who)
		}
		return err
	})
	if err != nil {
		return beeos.User{}, Link{}, err
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
	if _, err := tx.ExecContext(ctx, "DELETE FROM links WHERE kind = $1", SetupLink); err != nil {
		return who, err
	}
	if taken, err := anyoneCanSignIn(ctx, tx); err != nil || taken {
		return who, errors.Join(err, usedLink())
	}
	where, value := "id = $1", l.UserID
	if value == "" {
		where, value = "email = $1", foldEmail(who.Email)
	}
	who.Admin = true
	known, err := getUser(ctx, tx, sql.ErrNoRows, where, value)
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
	err = database.ChangeOne(ctx, tx, "set up", database.NotFound("user"), "UPDATE users SET email = $2, name = $3, password_hash = $4, admin = TRUE, disabled_at = 0 WHERE id = $1",
		who.ID, foldEmail(who.Email), who.Name, who.PasswordHash)
	return who, takenEmail(err)
}

// resetPassword sets a new password for somebody who is not locked out.
func resetPassword(ctx context.Context, tx *sql.Tx, l Link, who beeos.User) (beeos.User, error) {
	u, err := getUser(ctx, tx, usedLink(), "id = $1 AND disabled_at = 0", l.UserID)
	if err != nil {
		return u, err
	}
	u.PasswordHash = who.PasswordHash
	return u, changePassword(ctx, tx, u.ID, u.PasswordHash)
}

func usedLink() error {
	return beeos.Errorf(beeos.NotFound, "this link has been used or is too old; ask for a new one")
}

func linkFields(l *Link) []any {
	return []any{&l.ID, &l.Kind, &l.UserID, &l.Email, &l.Admin, &l.MadeBy, database.Time(&l.CreatedAt), database.Time(&l.ExpiresAt)}
}
