package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"github.com/beeos/beeos"
)

// What the authorization server is and knows: its signing keys and the clients
// that registered. The consents under way are in oauthtx.go, what came of them
// in oauthgrants.go and oauthfamilies.go.

// OAuthKey signs tokens while it is the newest, and verifies them until it
// retires.
type OAuthKey struct {
	ID        string
	Secret    []byte
	CreatedAt time.Time
	RetiresAt time.Time // zero = not yet
}

// OAuthKeys returns the keys that have not retired, the one that signs first.
func (db *DB) OAuthKeys(ctx context.Context, now time.Time) ([]OAuthKey, error) {
	rows, err := db.QueryContext(ctx, "SELECT id, secret, created_at, retires_at FROM oauth_keys WHERE retires_at = 0 OR retires_at > $1 ORDER BY CASE WHEN retires_at = 0 THEN 0 ELSE 1 END, created_at DESC, id", micros(now))
	keys, err := collect(rows, err, func(row scanner) (k OAuthKey, err error) {
		var created, retires int64
		err = row.Scan(&k.ID, &k.Secret, &created, &retires)
		k.CreatedAt, k.RetiresAt = moment(created), moment(retires)
		return k, err
	})
	if err != nil {
		return nil, fmt.Errorf("read signing keys: %w", err)
	}
	return keys, nil
}

// AddOAuthKey makes k the one that signs; the others retire at the given time.
// With first it does so only if there is none.
func (db *DB) AddOAuthKey(ctx context.Context, k OAuthKey, retire time.Time, first bool) error {
	err := db.Tx(ctx, func(tx *sql.Tx) error {
		var have int
		if err := tx.QueryRowContext(ctx, "SELECT count(*) FROM oauth_keys WHERE retires_at = 0").Scan(&have); err != nil || first && have > 0 {
			return err
		}
		if _, err := tx.ExecContext(ctx, "UPDATE oauth_keys SET retires_at = $1 WHERE retires_at = 0", micros(retire)); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, "INSERT INTO oauth_keys (id, secret, created_at, retires_at) VALUES ($1, $2, $3, 0)", k.ID, k.Secret, micros(k.CreatedAt))
		return err
	})
	if err != nil {
		return fmt.Errorf("add signing key: %w", err)
	}
	return nil
}

// OAuthClient is a client that registered itself.
type OAuthClient struct {
	ID           string
	Name         string
	RedirectURIs []string
	CreatedAt    time.Time
	ExpiresAt    time.Time
}

// CreateOAuthClient adds a client, unless there are most of them.
func (db *DB) CreateOAuthClient(ctx context.Context, c OAuthClient, most int) error {
	uris, err := json.Marshal(c.RedirectURIs)
	if err != nil {
		return fmt.Errorf("create client: %w", err)
	}
	err = db.Tx(ctx, func(tx *sql.Tx) error {
		var have int
		if err := tx.QueryRowContext(ctx, "SELECT count(*) FROM oauth_clients").Scan(&have); err != nil {
			return err
		}
		if have >= most {
			return beeos.Errorf(beeos.AgentServiceUnavailable, "too many clients have registered and not been used; try again later, or use a client id metadata document")
		}
		_, err := tx.ExecContext(ctx, "INSERT INTO oauth_clients (id, name, redirect_uris, created_at, expires_at) VALUES ($1, $2, $3, $4, $5)",
			c.ID, c.Name, string(uris), micros(c.CreatedAt), micros(c.ExpiresAt))
		return err
	})
	if err != nil {
		return fmt.Errorf("create client: %w", err)
	}
	return nil
}

// OAuthClient returns a client that registered and has not expired.
func (db *DB) OAuthClient(ctx context.Context, id string, now time.Time) (c OAuthClient, err error) {
	var uris string
	var created, expires int64
	err = db.QueryRowContext(ctx, "SELECT id, name, redirect_uris, created_at, expires_at FROM oauth_clients WHERE id = $1 AND expires_at > $2", id, micros(now)).
		Scan(&c.ID, &c.Name, &uris, &created, &expires)
	if Absent(err) {
		return c, notFound("client")
	}
	if err == nil {
		err = json.Unmarshal([]byte(uris), &c.RedirectURIs)
	}
	if err != nil {
		return c, fmt.Errorf("read client: %w", err)
	}
	c.CreatedAt, c.ExpiresAt = moment(created), moment(expires)
	return c, nil
}

// grantsKept is how long a grant that has ended stays in lists.
const grantsKept = 90 * 24 * time.Hour

// PruneOAuth forgets what is over. A code outlives its time by a day, so that a
// second use of it is noticed.
func (db *DB) PruneOAuth(ctx context.Context, now time.Time) error {
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
		if _, err := db.write(ctx, step.query, micros(step.before)); err != nil {
			return fmt.Errorf("prune: %w", err)
		}
	}
	return nil
}
