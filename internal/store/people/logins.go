package people

import (
	"context"
	"fmt"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store/database"
)

// Login is one browser in which a person is signed in.
type Login struct {
	ID        string
	UserID    string
	Method    string // password, link, or the issuer of an outside identity
	Address   string
	Device    string // what the browser says it is
	CreatedAt time.Time
	SeenAt    time.Time
	ExpiresAt time.Time
}

const loginColumns = "l.id, l.user_id, l.method, l.address, l.device, l.created_at, l.seen_at, l.expires_at"

// CreateLogin adds a session, of whose secret only the hash is kept.
func (tb *Table) CreateLogin(ctx context.Context, l Login, hash []byte) error {
	_, err := tb.db.Write(ctx, `INSERT INTO logins (hash, id, user_id, method, address, device, created_at, seen_at, expires_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`, hash, l.ID, l.UserID, database.Printed(l.Method), database.Printed(l.Address), database.Printed(l.Device),
		database.Micros(l.CreatedAt), database.Micros(l.SeenAt), database.Micros(l.ExpiresAt))
	if err != nil {
		return fmt.Errorf("create login: %w", err)
	}
	return nil
}

// GetLogin returns a session and its person, unless it has expired or the
// person is disabled.
func (tb *Table) GetLogin(ctx context.Context, hash []byte, now time.Time) (Login, beeos.User, error) {
	var u beeos.User
	l, err := scanLogin(tb.db.QueryRowContext(ctx, "SELECT "+loginColumns+" FROM logins l WHERE l.hash = $1 AND l.expires_at > $2", hash, database.Micros(now)))
	if err == nil {
		u, err = scanUser(tb.db.QueryRowContext(ctx, "SELECT "+userColumns+" FROM users WHERE id = $1 AND disabled_at = 0", l.UserID))
	}
	if database.IsAbsent(err) {
		return Login{}, beeos.User{}, database.NotFound("session")
	}
	if err != nil {
		return Login{}, beeos.User{}, fmt.Errorf("read login: %w", err)
	}
	return l, u, nil
}

// TouchLogin notes that a session is in use and lives on.
func (tb *Table) TouchLogin(ctx context.Context, hash []byte, seen, expires time.Time) error {
	_, err := tb.db.Write(ctx, "UPDATE logins SET seen_at = $2, expires_at = $3 WHERE hash = $1 AND seen_at < $2", hash, database.Micros(seen), database.Micros(expires))
	if err != nil {
		return fmt.Errorf("touch login: %w", err)
	}
	return nil
}

// ListLogins returns the sessions of a person that have not expired, the newest
// first.
func (tb *Table) ListLogins(ctx context.Context, userID string, now time.Time) ([]Login, error) {
	rows, err := tb.db.QueryContext(ctx, "SELECT "+loginColumns+` FROM logins l WHERE l.user_id = $1 AND l.expires_at > $2
		ORDER BY l.created_at DESC, l.id DESC`, userID, database.Micros(now))
	list, err := database.Collect(rows, err, scanLogin)
	if err != nil {
		return nil, fmt.Errorf("list logins: %w", err)
	}
	return list, nil
}

// EndLogin ends one session; one that is gone is fine.
func (tb *Table) EndLogin(ctx context.Context, hash []byte) error {
	if _, err := tb.db.Write(ctx, "DELETE FROM logins WHERE hash = $1", hash); err != nil {
		return fmt.Errorf("end login: %w", err)
	}
	return nil
}

// EndLoginByID ends one session of a person, as they see it in a list.
func (tb *Table) EndLoginByID(ctx context.Context, userID, id string) error {
	res, err := tb.db.Write(ctx, "DELETE FROM logins WHERE user_id = $1 AND id = $2", userID, id)
	if err != nil && !database.IsAbsent(err) {
		return fmt.Errorf("end login: %w", err)
	}
	if err == nil {
		if n, err := res.RowsAffected(); err != nil || n > 0 {
			return err
		}
	}
	return database.NotFound("session")
}

// EndLogins ends all sessions of a person.
func (tb *Table) EndLogins(ctx context.Context, userID string) error {
	if _, err := tb.db.Write(ctx, "DELETE FROM logins WHERE user_id = $1", userID); err != nil {
		return fmt.Errorf("end logins: %w", err)
	}
	return nil
}

func scanLogin(row database.Scanner) (l Login, err error) {
	var created, seen, expires int64
	err = row.Scan(&l.ID, &l.UserID, &l.Method, &l.Address, &l.Device, &created, &seen, &expires)
	l.CreatedAt, l.SeenAt, l.ExpiresAt = database.Moment(created), database.Moment(seen), database.Moment(expires)
	return l, err
}
