// Package grants keeps what the authorization server knows: its signing keys
// and registered clients, the consents under way (flows.go), what people have
// granted (grants.go), and the families of refresh tokens that came of it.
package grants

import (
	"context"
	"database/sql"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store/database"
)

// Table keeps what the authorization server knows: signing keys,
// clients, sign-ins under way, grants and their token families.
type Table struct {
	db        *database.DB
	rotations *database.Batch
}

// New returns the tables of db.
func New(db *database.DB) *Table {
	return &Table{db: db, rotations: db.NewBatch("rotate refresh token", rotate)}
}

// SigningKey signs tokens while it is the newest, and verifies them until it
// retires.
type SigningKey struct {
	ID        string
	Secret    []byte
	CreatedAt time.Time
	RetiresAt time.Time // zero = not yet
}

// ListSigningKeys returns the keys that have not retired, the one that signs first.
func (tb *Table) ListSigningKeys(ctx context.Context, now time.Time) ([]SigningKey, error) {
	return database.List(ctx, tb.db, "read signing keys", signingKeyFields,
		"SELECT "+signingKeyColumns+" FROM oauth_keys WHERE retires_at = 0 OR retires_at > $1 ORDER BY CASE WHEN retires_at = 0 THEN 0 ELSE 1 END, created_at DESC, id", database.Micros(now))
}

const signingKeyColumns = "id, secret, created_at, retires_at"

func signingKeyFields(k *SigningKey) []any {
	return []any{&k.ID, &k.Secret, database.Time(&k.CreatedAt), database.Time(&k.RetiresAt)}
}

// AddSigningKey makes k the one that signs; the others retire at the given time.
// With first it does so only if there is none.
func (tb *Table) AddSigningKey(ctx context.Context, k SigningKey, retire time.Time, first bool) error {
	return tb.db.Tx(ctx, "add signing key", func(tx *sql.Tx) error {
		have, err := database.GetValue[int](ctx, tx, "count keys", "SELECT count(*) FROM oauth_keys WHERE retires_at = 0")
		if err != nil || first && have > 0 {
			return err
		}
		if _, err := tx.ExecContext(ctx, "UPDATE oauth_keys SET retires_at = $1 WHERE retires_at = 0", database.Micros(retire)); err != nil {
			return err
		}
		k.RetiresAt = time.Time{}
		return database.Insert(ctx, tx, "insert key", "oauth_keys", signingKeyColumns, signingKeyFields(&k)...)
	})
}

// Client is a client that registered itself.
type Client struct {
	ID           string
	Name         string
	RedirectURIs []string
	CreatedAt    time.Time
	ExpiresAt    time.Time
}

// CreateClient adds a client, unless there are most of them.
func (tb *Table) CreateClient(ctx context.Context, c Client, most int) error {
	return tb.db.Tx(ctx, "create client", func(tx *sql.Tx) error {
		have, err := database.GetValue[int](ctx, tx, "count clients", "SELECT count(*) FROM oauth_clients")
		if err != nil {
			return err
		}
		if have >= most {
			return beeos.Errorf(beeos.AgentServiceUnavailable, "too many clients have registered and not been used; try again later, or use a client id metadata document")
		}
		return database.Insert(ctx, tx, "insert client", "oauth_clients", clientColumns, clientFields(&c)...)
	})
}

const clientColumns = "id, name, redirect_uris, created_at, expires_at"

func clientFields(c *Client) []any {
	return []any{&c.ID, &c.Name, database.JSON(&c.RedirectURIs), database.Time(&c.CreatedAt), database.Time(&c.ExpiresAt)}
}

// GetClient returns a client that registered and has not expired.
func (tb *Table) GetClient(ctx context.Context, id string, now time.Time) (Client, error) {
	return database.Get(ctx, tb.db, "read client", database.NotFound("client"), clientFields, "SELECT "+clientColumns+" FROM oauth_clients WHERE id = $1 AND expires_at > $2", id, database.Micros(now))
}

// grantsKept is how long a grant that has ended stays in lists.
const grantsKept = 90 * 24 * time.Hour

// Prune forgets what is over. A code outlives its time by a day, so that a
// second use of it is noticed.
func (tb *Table) Prune(ctx context.Context, now time.Time) error {
	for _, step := range []struct {
		query  string
		before time.Time
	}{
		{"DELETE FROM oauth_tx WHERE expires_at < $1", now},
		{"DELETE FROM oauth_clients WHERE expires_at < $1", now},
		{"DELETE FROM oauth_codes WHERE expires_at < $1", now.Add(-24 * time.Hour)},
		{"DELETE FROM oauth_families WHERE expires_at < $1", now},
		{"DELETE FROM oauth_keys WHERE retires_at <> 0 AND retires_at < $1", now},
		{"DELETE FROM oauth_grants WHERE NOT live AND revoked_at < $1", now.Add(-grantsKept)},
	} {
		if err := database.Exec(ctx, tb.db, "prune", step.query, database.Micros(step.before)); err != nil {
			return err
		}
	}
	return nil
}
