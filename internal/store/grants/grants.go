package grants

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/beeos/beeos/internal/store/database"
)

// Grant is what a person allowed a client.
type Grant struct {
	ID         string
	UserID     string
	ClientID   string
	ClientName string
	ClientHost string
	Agents     []string
	All        bool // every agent of the person, also later ones
	CreatedAt  time.Time
	ExpiresAt  time.Time // zero = until revoked
	UsedAt     time.Time
	RevokedAt  time.Time
}

const grantColumns = "g.id, g.user_id, g.client_id, g.client_name, g.client_host, g.agents, g.all_agents, g.created_at, g.expires_at, g.used_at, g.revoked_at"

// ListGrants lists a person's grants, the newest first, ended ones included;
// "" means everybody's.
func (tb *Table) ListGrants(ctx context.Context, userID string) ([]Grant, error) {
	where := database.Conditions{}
	where.AddUnlessEmpty("g.user_id = ?", userID)
	return database.List(ctx, tb.db, "list grants", grantFields, "SELECT "+grantColumns+" FROM oauth_grants g"+where.SQL()+" ORDER BY g.created_at DESC, g.id DESC", where.Args...)
}

// GetLiveGrant returns what a person allows a client now.
func (tb *Table) GetLiveGrant(ctx context.Context, userID, clientID string) (Grant, error) {
	return getGrant(ctx, tb.db, "WHERE g.user_id = $1 AND g.client_id = $2 AND g.live", userID, clientID)
}

func getGrant(ctx context.Context, q database.Querier, where string, args ...any) (Grant, error) {
	return database.Get(ctx, q, "read grant", database.NotFound("grant"), grantFields, "SELECT "+grantColumns+" FROM oauth_grants g "+where, args...)
}

// NarrowGrant replaces the agents of a grant by some of them. narrow gets
// the grant as it is and returns what stays.
func (tb *Table) NarrowGrant(ctx context.Context, userID, id string, narrow func(Grant) ([]string, error)) (Grant, error) {
	return database.Tx(ctx, tb.db, "narrow grant", func(tx *sql.Tx) (Grant, error) {
		// The write comes first: it locks the row on PostgreSQL.
		err := database.ChangeOne(ctx, tx, "lock grant", database.NotFound("grant"), "UPDATE oauth_grants SET live = live WHERE id = $1", id)
		if err != nil {
			return Grant{}, err
		}
		g, err := getGrant(ctx, tx, "WHERE g.id = $1 AND g.user_id = $2 AND g.live", id, userID)
		if err != nil {
			return g, err
		}
		if g.Agents, err = narrow(g); err != nil {
			return g, err
		}
		g.All = false
		return g, database.Exec(ctx, tx, "write grant", "UPDATE oauth_grants SET agents = $2, all_agents = FALSE WHERE id = $1", id, listColumn(g.Agents))
	})
}

// RevokeGrant ends a grant with everything that came of it; doing it
// twice is fine.
func (tb *Table) RevokeGrant(ctx context.Context, userID, id string, at time.Time) (Grant, error) {
	return database.Tx(ctx, tb.db, "revoke grant", func(tx *sql.Tx) (Grant, error) {
		g, err := getGrant(ctx, tx, "WHERE g.id = $1 AND g.user_id = $2", id, userID)
		if err != nil {
			return g, err
		}
		_, err = tx.ExecContext(ctx, "UPDATE oauth_grants SET live = FALSE, revoked_at = $2 WHERE id = $1 AND live", id, database.Micros(at))
		_, codes := tx.ExecContext(ctx, "DELETE FROM oauth_codes WHERE grant_id = $1", id)
		_, families := tx.ExecContext(ctx, "DELETE FROM oauth_families WHERE grant_id = $1", id)
		return g, errors.Join(err, codes, families)
	})
}

// TouchGrants notes when grants were last used.
func (tb *Table) TouchGrants(ctx context.Context, used map[string]time.Time) error {
	return tb.db.Touch(ctx, "touch grants", "UPDATE oauth_grants SET used_at = $2 WHERE id = $1 AND used_at < $2", used)
}

func grantFields(g *Grant) []any {
	return []any{
		&g.ID, &g.UserID, &g.ClientID, &g.ClientName, &g.ClientHost, database.JSON(&g.Agents), &g.All,
		database.Time(&g.CreatedAt), database.Time(&g.ExpiresAt), database.Time(&g.UsedAt), database.Time(&g.RevokedAt),
	}
}
