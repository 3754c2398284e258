// Package grants keeps what the authorization server knows: its signing keys
// and registered clients, the consents under way (flows.go), what people have
// granted (grants.go), and the families of refresh tokens that came of it.
package grants

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store/database"
)

// Table keeps what the authorization server knows: signing keys,
// clients, sign-ins under way, grants and their token families.
type Table struct {
	db    *database.DB
	queue *rotations
}

// New returns the tables of db.
func New(db *database.DB) *Table {
	return &Table{db: db, queue: newRotations(db)}
}

// SigningKey is while it is the newest, and verifies them until it
// retires.
type SigningKey struct {
	ID        string
	Secret    []byte
	CreatedAt time.Time
	RetiresAt time.Time // zero = not yet
}

// ListSigningKeys returns the keys that have not retired, the one that signs first.
func (tb *Table) ListSigningKeys(ctx context.Context, now time.Time) ([]SigningKey, error) {
	rows, err := tb.db.QueryContext(ctx, "SELECT id, secret, created_at, retires_at FROM oauth_keys WHERE retires_at = 0 OR retires_at > $1 ORDER BY CASE WHEN retires_at = 0 THEN 0 ELSE 1 END, created_at DESC, id", database.Micros(now))
	keys, err := database.Collect(rows, err, func(row database.Scanner) (k SigningKey, err error) {
		var created, retires int64
		err = row.Scan(&k.ID, &k.Secret, &created, &retires)
		k.CreatedAt, k.RetiresAt = database.Moment(created), database.Moment(retires)
		return k, err
	})
	if err != nil {
		return nil, fmt.Errorf("read signing keys: %w", err)
	}
	return keys, nil
}

// AddSigningKey makes k the one that signs; the others retire at the given time.
// With first it does so only if there is none.
func (tb *Table) AddSigningKey(ctx context.Context, k SigningKey, retire time.Time, first bool) error {
	err := tb.db.Tx(ctx, func(tx *sql.Tx) error {
		var have int
		if err := tx.QueryRowContext(ctx, "SELECT count(*) FROM oauth_keys WHERE retires_at = 0").Scan(&have); err != nil || first && have > 0 {
			return err
		}
		if _, err := tx.ExecContext(ctx, "UPDATE oauth_keys SET retires_at = $1 WHERE retires_at = 0", database.Micros(retire)); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, "INSERT INTO oauth_keys (id, secret, created_at, retires_at) VALUES ($1, $2, $3, 0)", k.ID, k.Secret, database.Micros(k.CreatedAt))
		return err
	})
	if err != nil {
		return fmt.Errorf("add signing key: %w", err)
	}
	return nil
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
	uris, err := json.Marshal(c.RedirectURIs)
	if err != nil {
		return fmt.Errorf("create client: %w", err)
	}
	err = tb.db.Tx(ctx, func(tx *sql.Tx) error {
		var have int
		if err := tx.QueryRowContext(ctx, "SELECT count(*) FROM oauth_clients").Scan(&have); err != nil {
			return err
		}
		if have >= most {
			return beeos.Errorf(beeos.AgentServiceUnavailable, "too many clients have registered and not been used; try again later, or use a client id metadata document")
		}
		_, err := tx.ExecContext(ctx, "INSERT INTO oauth_clients (id, name, redirect_uris, created_at, expires_at) VALUES ($1, $2, $3, $4, $5)",
			c.ID, c.Name, string(uris), database.Micros(c.CreatedAt), database.Micros(c.ExpiresAt))
		return err
	})
	if err != nil {
		return fmt.Errorf("create client: %w", err)
	}
	return nil
}

// GetClient returns a client that registered and has not expired.
func (tb *Table) GetClient(ctx context.Context, id string, now time.Time) (c Client, err error) {
	var uris string
	var created, expires int64
	err = tb.db.QueryRowContext(ctx, "SELECT id, name, redirect_uris, created_at, expires_at FROM oauth_clients WHERE id = $1 AND expires_at > $2", id, database.Micros(now)).
		Scan(&c.ID, &c.Name, &uris, &created, &expires)
	if database.IsAbsent(err) {
		return c, database.NotFound("client")
	}
	if err == nil {
		err = json.Unmarshal([]byte(uris), &c.RedirectURIs)
	}
	if err != nil {
		return c, fmt.Errorf("read client: %w", err)
	}
	c.CreatedAt, c.ExpiresAt = database.Moment(created), database.Moment(expires)
	return c, nil
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
		if _, err := tb.db.Write(ctx, step.query, database.Micros(step.before)); err != nil {
			return fmt.Errorf("prune: %w", err)
		}
	}
	return nil
}
