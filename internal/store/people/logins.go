package people

import (
	"context"
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

const loginColumns = "id, user_id, method, address, device, created_at, seen_at, expires_at"

// CreateLogin adds a session, of whose secret only the hash is kept.
func (tb *Table) CreateLogin(ctx context.Context, l Login, hash []byte) error {
	l.Method, l.Address, l.Device = database.MakePlain(l.Method), database.MakePlain(l.Address), database.MakePlain(l.Device)
	return database.Insert(ctx, tb.db, "create login", "logins", "hash, "+loginColumns, append([]any{hash}, loginFields(&l)...)...)
}

// GetLogin returns a session and its person, unless it has expired or the
// person is disabled.
func (tb *Table) GetLogin(ctx context.Context, hash []byte, now time.Time) (Login, beeos.User, error) {
	none := database.NotFound("session")
	l, err := database.Get(ctx, tb.db, "read login", none, loginFields, "SELECT "+loginColumns+" FROM logins WHERE hash = $1 AND expires_at > $2", hash, database.Micros(now))
	if err != nil {
		return Login{}, beeos.User{}, err
	}
	u, err := getUser(ctx, tb.db, none, "id = $1 AND disabled_at = 0", l.UserID)
	if err != nil {
		return Login{}, beeos.User{}, err
	}
	return l, u, nil
}

// TouchLogin notes that a session is in use and lives on.
func (tb *Table) TouchLogin(ctx context.Context, hash []byte, seen, expires time.Time) error {
	return database.Exec(ctx, tb.db, "touch login", "UPDATE logins SET seen_at = $2, expires_at = $3 WHERE hash = $1 AND seen_at < $2",
		hash, database.Micros(seen), database.Micros(expires))
}

// ListLogins returns the sessions of a person that have not expired, the newest
// first.
func (tb *Table) ListLogins(ctx context.Context, userID string, now time.Time) ([]Login, error) {
	return database.List(ctx, tb.db, "list logins", loginFields, "SELECT "+loginColumns+` FROM logins WHERE user_id = $1 AND expires_at > $2
		ORDER BY created_at DESC, id DESC`, userID, database.Micros(now))
}

// EndLogin ends one session; one that is gone is fine.
func (tb *Table) EndLogin(ctx context.Context, hash []byte) error {
	return database.Exec(ctx, tb.db, "end login", "DELETE FROM logins WHERE hash = $1", hash)
}

// EndLoginByID ends one session of a person, as they see it in a list.
func (tb *Table) EndLoginByID(ctx context.Context, userID, id string) error {
	return database.ChangeOne(ctx, tb.db, "end login", database.NotFound("session"), "DELETE FROM logins WHERE user_id = $1 AND id = $2", userID, id)
}

// EndLogins ends all sessions of a person.
func (tb *Table) EndLogins(ctx context.Context, userID string) error {
	return database.Exec(ctx, tb.db, "end logins", "DELETE FROM logins WHERE user_id = $1", userID)
}

func loginFields(l *Login) []any {
	return []any{
		&l.ID, &l.UserID, &l.Method, &l.Address, &l.Device,
		database.Time(&l.CreatedAt), database.Time(&l.SeenAt), database.Time(&l.ExpiresAt),
	}
}
