package grants

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/beeos/beeos/internal/store/database"
)

// Family is a chain of refresh tokens, of which one is good.
type Family struct {
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
func insertFamily(ctx context.Context, q database.Querier, f Family) error {
	_, err := q.ExecContext(ctx, `INSERT INTO oauth_families (id, grant_id, user_id, client_id, resource, token, previous, generation, rotated_at, expires_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, 1, $8, $9)`, f.ID, f.GrantID, f.UserID, f.ClientID, f.Resource, f.Token, []byte{}, database.Micros(f.RotatedAt), database.Micros(f.ExpiresAt))
	return err
}

// CreateFamily starts a chain of a person's own.
func (tb *Table) CreateFamily(ctx context.Context, f Family) error {
	unlock, err := tb.db.LockWriter(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if err := insertFamily(ctx, tb.db, f); err != nil {
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

// GetFamily returns a chain that is good, with what its grant allows now.
func (tb *Table) GetFamily(ctx context.Context, id string, now time.Time) (f Family, g Grant, err error) {
	var agents string
	var rotated, expires, until int64
	err = tb.db.QueryRowContext(ctx, familyQuery, id, database.Micros(now)).Scan(&f.ID, &f.GrantID, &f.UserID, &f.ClientID, &f.Resource, &f.Token, &f.Previous, &f.Generation, &rotated, &expires,
		&g.ClientName, &agents, &g.All, &until)
	if database.IsAbsent(err) {
		return f, g, database.NotFound("token family")
	}
	if err == nil {
		err = json.Unmarshal([]byte(agents), &g.Agents)
	}
	if err != nil {
		return f, g, fmt.Errorf("read token family: %w", err)
	}
	f.RotatedAt, f.ExpiresAt = database.Moment(rotated), database.Moment(expires)
	g.ID, g.UserID, g.ClientID, g.ExpiresAt = f.GrantID, f.UserID, f.ClientID, database.Moment(until)
	return f, g, nil
}

// EndFamily ends a chain, and with it its access tokens.
func (tb *Table) EndFamily(ctx context.Context, id string) error {
	if _, err := tb.db.Write(ctx, "DELETE FROM oauth_families WHERE id = $1", id); err != nil {
		return fmt.Errorf("end token family: %w", err)
	}
	return nil
}

// EndFamiliesOf ends the chains that are a person's own.
func (tb *Table) EndFamiliesOf(ctx context.Context, userID string) error {
	if _, err := tb.db.Write(ctx, "DELETE FROM oauth_families WHERE user_id = $1 AND grant_id = ''", userID); err != nil {
		return fmt.Errorf("end token families: %w", err)
	}
	return nil
}
