package store

import (
	"context"
	"fmt"
	"time"

	"github.com/beeos/beeos"
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
func (db *DB) CreateLogin(ctx context.Context, l Login, hash []byte) error {
	_, err := db.write(ctx, `INSERT INTO logins (hash, id, user_id, method, address, device, created_at, seen_at, expires_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`, hash, l.ID, l.UserID, printed(l.Method), printed(l.Address), printed(l.Device),
		micros(l.CreatedAt), micros(l.SeenAt), micros(l.ExpiresAt))
	if err != nil {
		return fmt.Errorf("create login: %w", err)
	}
	return nil
}

// LoginByHash returns a session and its person, unless it has expired or the
// person is disabled.
func (db *DB) LoginByHash(ctx context.Context, hash []byte, now time.Time) (Login, beeos.User, error) {
	var u beeos.User
	l, err := scanLogin(db.QueryRowContext(ctx, "SELECT "+loginColumns+" FROM logins l WHERE l.hash = $1 AND l.expires_at > $2", hash, micros(now)))
	if err == nil {
		u, err = scanUser(db.QueryRowContext(ctx, "SELECT "+userColumns+" FROM users WHERE id = $1 AND disabled_at = 0", l.UserID))
	}
	if Absent(err) {
		return Login{}, beeos.User{}, notFound("session")
	}
	if err != nil {
		return Login{}, beeos.User{}, fmt.Errorf("read login: %w", err)
	}
	return l, u, nil
}

// TouchLogin notes that a session is in use and lives on.
func (db *DB) TouchLogin(ctx context.Context, hash []byte, seen, expires time.Time) error {
	_, err := db.write(ctx, "UPDATE logins SET seen_at = $2, expires_at = $3 WHERE hash = $1 AND seen_at < $2", hash, micros(seen), micros(expires))
	if err != nil {
		return fmt.Errorf("touch login: %w", err)
	}
	return nil
}

// Logins returns the sessions of a person that have not expired, the newest
// first.
func (db *DB) Logins(ctx context.Context, userID string, now time.Time) ([]Login, error) {
	rows, err := db.QueryContext(ctx, "SELECT "+loginColumns+` FROM logins l WHERE l.user_id = $1 AND l.expires_at > $2
		ORDER BY l.created_at DESC, l.id DESC`, userID, micros(now))
	list, err := collect(rows, err, scanLogin)
	if err != nil {
		return nil, fmt.Errorf("list logins: %w", err)
	}
	return list, nil
}

// EndLogin ends one session; one that is gone is fine.
func (db *DB) EndLogin(ctx context.Context, hash []byte) error {
	if _, err := db.write(ctx, "DELETE FROM logins WHERE hash = $1", hash); err != nil {
		return fmt.Errorf("end login: %w", err)
	}
	return nil
}

// EndLoginByID ends one session of a person, as they see it in a list.
func (db *DB) EndLoginByID(ctx context.Context, userID, id string) error {
	res, err := db.write(ctx, "DELETE FROM logins WHERE user_id = $1 AND id = $2", userID, id)
	if err != nil && !Absent(err) {
		return fmt.Errorf("end login: %w", err)
	}
	if err == nil {
		if n, err := res.RowsAffected(); err != nil || n > 0 {
			return err
		}
	}
	return notFound("session")
}

// EndLogins ends all sessions of a person.
func (db *DB) EndLogins(ctx context.Context, userID string) error {
	if _, err := db.write(ctx, "DELETE FROM logins WHERE user_id = $1", userID); err != nil {
		return fmt.Errorf("end logins: %w", err)
	}
	return nil
}

func scanLogin(row scanner) (l Login, err error) {
	var created, seen, expires int64
	err = row.Scan(&l.ID, &l.UserID, &l.Method, &l.Address, &l.Device, &created, &seen, &expires)
	l.CreatedAt, l.SeenAt, l.ExpiresAt = moment(created), moment(seen), moment(expires)
	return l, err
}
