package grants

import (
	"context"
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

const familyColumns = "id, grant_id, user_id, client_id, resource, token, previous, generation, rotated_at, expires_at"

func familyFields(f *Family) []any {
	return []any{
		&f.ID, &f.GrantID, &f.UserID, &f.ClientID, &f.Resource, &f.Token, &f.Previous, &f.Generation,
		database.Time(&f.RotatedAt), database.Time(&f.ExpiresAt),
	}
}

// insertFamily starts a chain.
func insertFamily(ctx context.Context, q database.Querier, f Family) error {
	f.Previous, f.Generation = []byte{}, 1
	return database.Insert(ctx, q, "create token family", "oauth_families", familyColumns, familyFields(&f)...)
}

// CreateFamily starts a chain of a person's own.
func (tb *Table) CreateFamily(ctx context.Context, f Family) error {
	return insertFamily(ctx, tb.db, f)
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
	type both struct {
		Family
		Grant
	}
	b, err := database.Get(ctx, tb.db, "read token family", database.NotFound("token family"), func(b *both) []any {
		return append(familyFields(&b.Family), &b.ClientName, database.JSON(&b.Agents), &b.All, database.Time(&b.Grant.ExpiresAt))
	}, familyQuery, id, database.Micros(now))
	b.Grant.ID, b.Grant.UserID, b.Grant.ClientID = b.GrantID, b.Family.UserID, b.Family.ClientID
	return b.Family, b.Grant, err
}

// EndFamily ends a chain, and with it its access tokens.
func (tb *Table) EndFamily(ctx context.Context, id string) error {
	return database.Exec(ctx, tb.db, "end token family", "DELETE FROM oauth_families WHERE id = $1", id)
}

// EndFamiliesOf ends the chains that are a person's own.
func (tb *Table) EndFamiliesOf(ctx context.Context, userID string) error {
	return database.Exec(ctx, tb.db, "end token families", "DELETE FROM oauth_families WHERE user_id = $1 AND grant_id = ''", userID)
}
