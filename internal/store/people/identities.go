package people

import (
	"context"
	"database/sql"
	"fmt"
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

// UserByIdentity returns whose identity it is.
func (tb *Table) UserByIdentity(ctx context.Context, issuer, subject string) (beeos.User, error) {
	u, err := scanUser(tb.db.QueryRowContext(ctx, "SELECT "+userColumns+` FROM users
		WHERE id = (SELECT user_id FROM identities WHERE issuer = $1 AND subject = $2)`, issuer, subject))
	if database.IsAbsent(err) {
		return beeos.User{}, database.NotFound("user")
	}
	if err != nil {
		return beeos.User{}, fmt.Errorf("read identity: %w", err)
	}
	return u, nil
}

// LinkIdentity gives an identity to the person who has its e-mail address
// already, else to the one whom an open invitation to that address makes. It
// is NotFound when there is neither. A person has one identity per issuer: a
// second one with the same address is a Conflict.
func (tb *Table) LinkIdentity(ctx context.Context, i Identity, who beeos.User, now time.Time) (u beeos.User, invited bool, err error) {
	err = tb.db.Tx(ctx, func(tx *sql.Tx) error {
		email := foldEmail(i.Email)
		invited = false
		u, err = scanUser(tx.QueryRowContext(ctx, "SELECT "+userColumns+" FROM users WHERE email = $1", email))
		if database.IsAbsent(err) {
			l, err := scanLink(tx.QueryRowContext(ctx, "DELETE FROM links WHERE kind = $1 AND email = $2 AND expires_at > $3 RETURNING "+linkColumns,
				string(InviteLink), email, database.Micros(now)))
			if database.IsAbsent(err) {
				return database.NotFound("user")
			}
			if err != nil {
				return err
			}
			invited = true
			u = beeos.User{ID: who.ID, Email: email, Name: who.Name, Admin: l.Admin, CreatedAt: now}
			if err := insertUser(ctx, tx, u); err != nil {
				return err
			}
		} else if err != nil {
			return err
		}
		return addIdentity(ctx, tx, i, u.ID, now)
	})
	if err != nil {
		return beeos.User{}, false, fmt.Errorf("link identity: %w", err)
	}
	return u, invited, nil
}

func addIdentity(ctx context.Context, tx *sql.Tx, i Identity, userID string, now time.Time) error {
	// The write comes first: it locks the person's row on PostgreSQL.
	if _, err := tx.ExecContext(ctx, "UPDATE users SET name = name WHERE id = $1", userID); err != nil {
		return err
	}
	var other string
	err := tx.QueryRowContext(ctx, "SELECT subject FROM identities WHERE user_id = $1 AND issuer = $2", userID, i.Issuer).Scan(&other)
	if err == nil && other != i.Subject {
		return beeos.Errorf(beeos.Conflict, "this address belongs to another account of your provider here; ask an admin")
	}
	if err != nil && !database.IsAbsent(err) {
		return err
	}
	_, err = tx.ExecContext(ctx, "INSERT INTO identities (issuer, subject, user_id, email, created_at) VALUES ($1, $2, $3, $4, $5) ON CONFLICT (issuer, subject) DO NOTHING",
		i.Issuer, i.Subject, userID, foldEmail(i.Email), database.Micros(now))
	return err
}

// Identities returns who a person is elsewhere.
func (tb *Table) Identities(ctx context.Context, userID string) ([]Identity, error) {
	rows, err := tb.db.QueryContext(ctx, "SELECT issuer, subject, user_id, email, created_at FROM identities WHERE user_id = $1 ORDER BY issuer, subject", userID)
	list, err := database.Collect(rows, err, func(row database.Scanner) (i Identity, err error) {
		var created int64
		err = row.Scan(&i.Issuer, &i.Subject, &i.UserID, &i.Email, &created)
		i.CreatedAt = database.Moment(created)
		return i, err
	})
	if err != nil {
		return nil, fmt.Errorf("list identities: %w", err)
	}
	return list, nil
}
