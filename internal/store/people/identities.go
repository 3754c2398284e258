package people

import (
	"context"
	"database/sql"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store/database"
)

// Identity is who a person is at an outside provider.
type Identity struct {
	Issuer    string
	Subject   string
	UserID    string
	Email     string
	CreatedAt time.Time
}

const identityColumns = "issuer, subject, user_id, email, created_at"

// UserByIdentity returns whose identity it is.
func (tb *Table) UserByIdentity(ctx context.Context, issuer, subject string) (beeos.User, error) {
	return getUser(ctx, tb.db, database.NotFound("user"), "id = (SELECT user_id FROM identities WHERE issuer = $1 AND subject = $2)", issuer, subject)
}

// LinkIdentity gives an identity to the person who has its e-mail address
// already, else to the one whom an open invitation to that address makes. It
// is NotFound when there is neither. A person has one identity per issuer: a
// second one with the same address is a Conflict.
func (tb *Table) LinkIdentity(ctx context.Context, i Identity, who beeos.User, now time.Time) (u beeos.User, invited bool, err error) {
	err = tb.db.Tx(ctx, "link identity", func(tx *sql.Tx) error {
		email := foldEmail(i.Email)
		u, err = getUser(ctx, tx, sql.ErrNoRows, "email = $1", email)
		if invited = database.IsAbsent(err); invited {
			u, err = acceptInvitation(ctx, tx, email, who, now)
		}
		if err != nil {
			return err
		}
		return addIdentity(ctx, tx, i, u.ID, now)
	})
	if err != nil {
		return beeos.User{}, false, err
	}
	return u, invited, nil
}

// acceptInvitation makes the person whom an open invitation to the address is for.
func acceptInvitation(ctx context.Context, tx *sql.Tx, email string, who beeos.User, now time.Time) (u beeos.User, err error) {
	l, err := takeLink(ctx, tx, database.NotFound("user"), "kind = $1 AND email = $2 AND expires_at > $3", InviteLink, email, database.Micros(now))
	if err != nil {
		return u, err
	}
	u = beeos.User{ID: who.ID, Email: email, Name: who.Name, Admin: l.Admin, CreatedAt: now}
	return u, insertUser(ctx, tx, u)
}

func addIdentity(ctx context.Context, tx *sql.Tx, i Identity, userID string, now time.Time) error {
	// The write comes first: it locks the person's row on PostgreSQL.
	if _, err := tx.ExecContext(ctx, "UPDATE users SET name = name WHERE id = $1", userID); err != nil {
		return err
	}
	other, err := database.GetValue[string](ctx, tx, "read identity", "SELECT subject FROM identities WHERE user_id = $1 AND issuer = $2", userID, i.Issuer)
	if err != nil {
		return err
	}
	if other != "" && other != i.Subject {
		return beeos.Errorf(beeos.Conflict, "this address belongs to another account of your provider here; ask an admin")
	}
	i.UserID, i.Email, i.CreatedAt = userID, foldEmail(i.Email), now
	return database.InsertRows(ctx, tx, "identities", identityColumns, [][]any{identityFields(&i)}, " ON CONFLICT (issuer, subject) DO NOTHING")
}

// Identities returns who a person is elsewhere.
func (tb *Table) Identities(ctx context.Context, userID string) ([]Identity, error) {
	return database.List(ctx, tb.db, "list identities", identityFields, "SELECT "+identityColumns+" FROM identities WHERE user_id = $1 ORDER BY issuer, subject", userID)
}

func identityFields(i *Identity) []any {
	return []any{&i.Issuer, &i.Subject, &i.UserID, &i.Email, database.Time(&i.CreatedAt)}
}
