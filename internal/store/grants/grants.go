package grants

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
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
	where.AddUnlessEmpty("g.user_id = ", userID)
	rows, err := tb.db.QueryContext(ctx, "SELECT "+grantColumns+" FROM oauth_grants g"+where.SQL()+" ORDER BY g.created_at DESC, g.id DESC", where.Args...)
	grants, err := database.Collect(rows, err, scanGrant)
	if err != nil {
		return nil, fmt.Errorf("list grants: %w", err)
	}
	return grants, nil
}

// GetLiveGrant returns what a person allows a client now.
func (tb *Table) GetLiveGrant(ctx context.Context, userID, clientID string) (Grant, error) {
	return tb.oauthGrant(ctx, tb.db, "g.user_id = $1 AND g.client_id = $2 AND g.live", userID, clientID)
}

func (tb *Table) oauthGrant(ctx context.Context, q database.Querier, where string, args ...any) (Grant, error) {
	g, err := scanGrant(q.QueryRowContext(ctx, "SELECT "+grantColumns+" FROM oauth_grants g WHERE "+where, args...))
	if database.IsAbsent(err) {
		return g, database.NotFound("grant")
	}
	if err != nil {
		return g, fmt.Errorf("read grant: %w", err)
	}
	return g, nil
}

// NarrowGrant replaces the agents of a grant by some of them. narrow gets
// the grant as it is and returns what stays.
func (tb *Table) NarrowGrant(ctx context.Context, userID, id string, narrow func(Grant) ([]string, error)) (Grant, error) {
	var g Grant
	err := tb.db.Tx(ctx, func(tx *sql.Tx) error {
		// The write comes first: it locks the row on PostgreSQL.
		if _, err := tx.ExecContext(ctx, "UPDATE oauth_grants SET live = live WHERE id = $1", id); err != nil && !database.IsAbsent(err) {
			return err
		}
		var err error
		if g, err = tb.oauthGrant(ctx, tx, "g.id = $1 AND g.user_id = $2 AND g.live", id, userID); err != nil {
			return err
		}
		if g.Agents, err = narrow(g); err != nil {
			return err
		}
		g.All = false
		agents, err := listText(g.Agents)
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, "UPDATE oauth_grants SET agents = $2, all_agents = FALSE WHERE id = $1", id, agents)
		return err
	})
	if err != nil {
		return g, fmt.Errorf("narrow grant: %w", err)
	}
	return g, nil
}

// RevokeGrant ends a grant with everything that came of it; doing it
// twice is fine.
func (tb *Table) RevokeGrant(ctx context.Context, userID, id string, at time.Time) (g Grant, err error) {
	err = tb.db.Tx(ctx, func(tx *sql.Tx) error {
		if g, err = tb.oauthGrant(ctx, tx, "g.id = $1 AND g.user_id = $2", id, userID); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, "UPDATE oauth_grants SET live = FALSE, revoked_at = $2 WHERE id = $1 AND live", id, database.Micros(at))
		_, codes := tx.ExecContext(ctx, "DELETE FROM oauth_codes WHERE grant_id = $1", id)
		_, families := tx.ExecContext(ctx, "DELETE FROM oauth_families WHERE grant_id = $1", id)
		return errors.Join(err, codes, families)
	})
	if err != nil {
		return g, fmt.Errorf("revoke grant: %w", err)
	}
	return g, nil
}

// TouchGrants notes when grants were last used.
func (tb *Table) TouchGrants(ctx context.Context, used map[string]time.Time) error {
	if len(used) == 0 {
		return nil
	}
	err := tb.db.Tx(ctx, func(tx *sql.Tx) error {
		for _, id := range database.SortedKeys(used) { // one order for all replicas, so that none waits in a circle
			if _, err := tx.ExecContext(ctx, "UPDATE oauth_grants SET used_at = $2 WHERE id = $1 AND used_at < $2", id, database.Micros(used[id])); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("touch grants: %w", err)
	}
	return nil
}

func scanGrant(row database.Scanner) (g Grant, err error) {
	var agents string
	var created, expires, used, revoked int64
	err = row.Scan(&g.ID, &g.UserID, &g.ClientID, &g.ClientName, &g.ClientHost, &agents, &g.All, &created, &expires, &used, &revoked)
	if err == nil {
		err = json.Unmarshal([]byte(agents), &g.Agents)
	}
	g.CreatedAt, g.ExpiresAt, g.UsedAt, g.RevokedAt = database.Moment(created), database.Moment(expires), database.Moment(used), database.Moment(revoked)
	return g, err
}
