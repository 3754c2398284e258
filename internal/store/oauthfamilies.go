package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// OAuthFamily is a chain of refresh tokens, of which one is good.
type OAuthFamily struct {
	ID         string
	GrantID    string // "" = a person's own
	UserID     string
	ClientID   string
	Resource   string
	Token      []byte // SHA-256 of the one that is good
	Previous   []byte // of the one before
	Generation int
	RotatedAt  time.Time
	ExpiresAt  time.Time
}

// insertFamily starts a chain.
func insertFamily(ctx context.Context, q querier, f OAuthFamily) error {
	_, err := q.ExecContext(ctx, `INSERT INTO oauth_families (id, grant_id, user_id, client_id, resource, token, previous, generation, rotated_at, expires_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, 1, $8, $9)`, f.ID, f.GrantID, f.UserID, f.ClientID, f.Resource, f.Token, []byte{}, micros(f.RotatedAt), micros(f.ExpiresAt))
	return err
}

// CreateOAuthFamily starts a chain of a person's own.
func (db *DB) CreateOAuthFamily(ctx context.Context, f OAuthFamily) error {
	unlock, err := db.LockWriter(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if err := insertFamily(ctx, db, f); err != nil {
		return fmt.Errorf("create token family: %w", err)
	}
	return nil
}

// familyQuery reads a chain with its grant, if both are good. A person's own
// has none; the columns are then empty.
const familyQuery = `SELECT f.id, f.grant_id, f.user_id, f.client_id, f.resource, f.token, f.previous, f.generation, f.rotated_at, f.expires_at,
		coalesce(g.client_name, ''), coalesce(g.agents, '[]'), coalesce(g.all_agents, FALSE), coalesce(g.expires_at, 0)
	FROM oauth_families f JOIN users u ON u.id = f.user_id LEFT JOIN oauth_grants g ON g.id = f.grant_id
	WHERE f.id = $1 AND f.expires_at > $2 AND u.disabled_at = 0
		AND (f.grant_id = '' OR g.live AND (g.expires_at = 0 OR g.expires_at > $2))`

// OAuthFamily returns a chain that is good, with what its grant allows now.
func (db *DB) OAuthFamily(ctx context.Context, id string, now time.Time) (f OAuthFamily, g OAuthGrant, err error) {
	var agents string
	var rotated, expires, until int64
	err = db.QueryRowContext(ctx, familyQuery, id, micros(now)).Scan(&f.ID, &f.GrantID, &f.UserID, &f.ClientID, &f.Resource, &f.Token, &f.Previous, &f.Generation, &rotated, &expires,
		&g.ClientName, &agents, &g.All, &until)
	if Absent(err) {
		return f, g, notFound("token family")
	}
	if err == nil {
		err = json.Unmarshal([]byte(agents), &g.Agents)
	}
	if err != nil {
		return f, g, fmt.Errorf("read token family: %w", err)
	}
	f.RotatedAt, f.ExpiresAt = moment(rotated), moment(expires)
	g.ID, g.UserID, g.ClientID, g.ExpiresAt = f.GrantID, f.UserID, f.ClientID, moment(until)
	return f, g, nil
}

// EndOAuthFamily ends a chain, and with it its access tokens.
func (db *DB) EndOAuthFamily(ctx context.Context, id string) error {
	if _, err := db.write(ctx, "DELETE FROM oauth_families WHERE id = $1", id); err != nil {
		return fmt.Errorf("end token family: %w", err)
	}
	return nil
}

// EndOwnOAuthFamilies ends the chains that are a person's own.
func (db *DB) EndOwnOAuthFamilies(ctx context.Context, userID string) error {
	if _, err := db.write(ctx, "DELETE FROM oauth_families WHERE user_id = $1 AND grant_id = ''", userID); err != nil {
		return fmt.Errorf("end token families: %w", err)
	}
	return nil
}
