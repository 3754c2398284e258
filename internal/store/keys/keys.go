// Package keys keeps API keys, as hashes.
package keys

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store/agents"
	"github.com/beeos/beeos/internal/store/database"
)

// Table keeps API keys, as hashes.
type Table struct{ db *database.DB }

// New returns the tables of db.
func New(db *database.DB) *Table { return &Table{db: db} }

const keyColumns = "k.id, k.kind, k.owner_id, k.agent_id, k.name, k.prefix, k.rate_per_minute, k.expires_at, k.revoked_at, k.last_used_at, k.created_at"

// Filter picks keys; an empty field picks all.
type Filter struct {
	Owner   string
	AgentID string
	Kind    beeos.KeyKind
}

// Create adds a key, of which only the secret's hash is kept. An agent's
// key needs an agent of the same owner, which may have three active ones; a
// fourth is a Conflict.
func (tb *Table) Create(ctx context.Context, k beeos.Key, hash []byte) error {
	if err := database.CheckName("key name", k.Name, 0); err != nil {
		return err
	}
	if k.CreatedAt.IsZero() {
		k.CreatedAt = time.Now()
	}
	if k.RatePerMinute < 0 {
		return beeos.Errorf(beeos.InvalidParam, "rate_limit_per_minute must be 0 (the default) or more")
	}
	if !k.ExpiresAt.IsZero() && !k.ExpiresAt.After(k.CreatedAt) {
		return beeos.Errorf(beeos.InvalidParam, "expires_at lies in the past; choose a later time, or leave it out")
	}
	err := tb.db.Tx(ctx, func(tx *sql.Tx) error {
		if k.Kind == beeos.AgentKey {
			if err := reserveAgentKey(ctx, tx, k); err != nil {
				return err
			}
		}
		_, err := tx.ExecContext(ctx, `INSERT INTO api_keys (id, hash, kind, owner_id, agent_id, name, prefix, rate_per_minute, expires_at, revoked_at, last_used_at, created_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`, k.ID, hash, string(k.Kind), k.OwnerID, k.AgentID, k.Name, k.Prefix,
			k.RatePerMinute, database.Micros(k.ExpiresAt), database.Micros(k.RevokedAt), database.Micros(k.LastUsedAt), database.Micros(k.CreatedAt))
		return err
	})
	if err != nil {
		return fmt.Errorf("create key: %w", err)
	}
	return nil
}

// reserveAgentKey locks the agent's row, so that two requests cannot both see
// room for one more key.
func reserveAgentKey(ctx context.Context, tx *sql.Tx, k beeos.Key) error {
	res, err := tx.ExecContext(ctx, "UPDATE agents SET owner_id = owner_id WHERE id = $1 AND owner_id = $2 AND NOT deleted", k.AgentID, k.OwnerID)
	if err != nil {
		return err
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return errors.Join(err, agents.NotFound())
	}
	var active int
	err = tx.QueryRowContext(ctx, "SELECT count(*) FROM api_keys WHERE agent_id = $1 AND agent_id <> '' AND revoked_at = 0 AND (expires_at = 0 OR expires_at > $2)",
		k.AgentID, database.Micros(k.CreatedAt)).Scan(&active)
	if err != nil {
		return err
	}
	if active >= beeos.MaxKeysPerAgent {
		return beeos.Errorf(beeos.Conflict, "this agent has %d active keys, which is the most it may have; revoke one first", active)
	}
	return nil
}

// GetByHash returns the key whose secret has this hash, also when it is
// expired or revoked, but not when its owner is disabled.
func (tb *Table) GetByHash(ctx context.Context, hash []byte) (beeos.Key, error) {
	k, err := scanKey(tb.db.QueryRowContext(ctx, "SELECT "+keyColumns+` FROM api_keys k JOIN users u ON u.id = k.owner_id
		WHERE k.hash = $1 AND u.disabled_at = 0`, hash))
	if database.IsAbsent(err) {
		return beeos.Key{}, database.NotFound("key")
	}
	if err != nil {
		return beeos.Key{}, fmt.Errorf("read key: %w", err)
	}
	return k, nil
}

// List lists keys, the oldest first, revoked ones included.
func (tb *Table) List(ctx context.Context, f Filter) ([]beeos.Key, error) {
	where := database.Conditions{}
	where.AddUnlessEmpty("k.owner_id = ", f.Owner)
	where.AddUnlessEmpty("k.agent_id = ", f.AgentID)
	where.AddUnlessEmpty("k.kind = ", string(f.Kind))
	if f.AgentID != "" {
		where.Text("k.agent_id <> ''") // lets SQLite use the partial index
	}
	rows, err := tb.db.QueryContext(ctx, "SELECT "+keyColumns+" FROM api_keys k"+where.SQL()+" ORDER BY k.created_at, k.id", where.Args...)
	keys, err := database.Collect(rows, err, scanKey)
	if err != nil {
		return nil, fmt.Errorf("list keys: %w", err)
	}
	return keys, nil
}

// Revoke ends a key of that owner for good; doing it twice is fine.
func (tb *Table) Revoke(ctx context.Context, owner, id string) error {
	res, err := tb.db.Write(ctx, "UPDATE api_keys SET revoked_at = CASE WHEN revoked_at = 0 THEN $3 ELSE revoked_at END WHERE owner_id = $1 AND id = $2",
		owner, id, database.Micros(time.Now()))
	if err != nil && !database.IsAbsent(err) {
		return fmt.Errorf("revoke key: %w", err)
	}
	if err == nil {
		if n, err := res.RowsAffected(); err != nil || n == 1 {
			return err
		}
	}
	return database.NotFound("key")
}

// Touch notes when keys were last used.
func (tb *Table) Touch(ctx context.Context, used map[string]time.Time) error {
	if len(used) == 0 {
		return nil
	}
	err := tb.db.Tx(ctx, func(tx *sql.Tx) error {
		stmt, err := tx.PrepareContext(ctx, "UPDATE api_keys SET last_used_at = $2 WHERE id = $1 AND last_used_at < $2")
		if err != nil {
			return err
		}
		defer stmt.Close()
		for _, id := range database.SortedKeys(used) { // one order for all replicas, so that none waits in a circle
			if _, err := stmt.ExecContext(ctx, id, database.Micros(used[id])); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("touch keys: %w", err)
	}
	return nil
}

func scanKey(row database.Scanner) (k beeos.Key, err error) {
	var expires, revoked, used, created int64
	err = row.Scan(&k.ID, &k.Kind, &k.OwnerID, &k.AgentID, &k.Name, &k.Prefix, &k.RatePerMinute, &expires, &revoked, &used, &created)
	k.ExpiresAt, k.RevokedAt, k.LastUsedAt, k.CreatedAt = database.Moment(expires), database.Moment(revoked), database.Moment(used), database.Moment(created)
	return k, err
}
