package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/beeos/beeos"
)

const keyColumns = "k.id, k.kind, k.owner_id, k.agent_id, k.name, k.prefix, k.rate_per_minute, k.expires_at, k.revoked_at, k.last_used_at, k.created_at"

// KeyFilter picks keys; an empty field picks all.
type KeyFilter struct {
	Owner   string
	AgentID string
	Kind    beeos.KeyKind
}

// CreateKey adds a key, of which only the secret's hash is kept. An agent's
// key needs an agent of the same owner, which may have three active ones; a
// fourth is a Conflict.
func (db *DB) CreateKey(ctx context.Context, k beeos.Key, hash []byte) error {
	if err := checkName("key name", k.Name, 0); err != nil {
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
	err := db.Tx(ctx, func(tx *sql.Tx) error {
		if k.Kind == beeos.AgentKey {
			if err := reserveAgentKey(ctx, tx, k); err != nil {
				return err
			}
		}
		_, err := tx.ExecContext(ctx, `INSERT INTO api_keys (id, hash, kind, owner_id, agent_id, name, prefix, rate_per_minute, expires_at, revoked_at, last_used_at, created_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`, k.ID, hash, string(k.Kind), k.OwnerID, k.AgentID, k.Name, k.Prefix,
			k.RatePerMinute, micros(k.ExpiresAt), micros(k.RevokedAt), micros(k.LastUsedAt), micros(k.CreatedAt))
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
		return errors.Join(err, agentNotFound())
	}
	var active int
	err = tx.QueryRowContext(ctx, "SELECT count(*) FROM api_keys WHERE agent_id = $1 AND agent_id <> '' AND revoked_at = 0 AND (expires_at = 0 OR expires_at > $2)",
		k.AgentID, micros(k.CreatedAt)).Scan(&active)
	if err != nil {
		return err
	}
	if active >= beeos.MaxKeysPerAgent {
		return beeos.Errorf(beeos.Conflict, "this agent has %d active keys, which is the most it may have; revoke one first", active)
	}
	return nil
}

// KeyByHash returns the key whose secret has this hash, also when it is
// expired or revoked, but not when its owner is disabled.
func (db *DB) KeyByHash(ctx context.Context, hash []byte) (beeos.Key, error) {
	k, err := scanKey(db.QueryRowContext(ctx, "SELECT "+keyColumns+` FROM api_keys k JOIN users u ON u.id = k.owner_id
		WHERE k.hash = $1 AND u.disabled_at = 0`, hash))
	if Absent(err) {
		return beeos.Key{}, notFound("key")
	}
	if err != nil {
		return beeos.Key{}, fmt.Errorf("read key: %w", err)
	}
	return k, nil
}

// Keys lists keys, the oldest first, revoked ones included.
func (db *DB) Keys(ctx context.Context, f KeyFilter) ([]beeos.Key, error) {
	where := conditions{}
	where.addUnlessEmpty("k.owner_id = ", f.Owner)
	where.addUnlessEmpty("k.agent_id = ", f.AgentID)
	where.addUnlessEmpty("k.kind = ", string(f.Kind))
	if f.AgentID != "" {
		where.text("k.agent_id <> ''") // lets SQLite use the partial index
	}
	rows, err := db.QueryContext(ctx, "SELECT "+keyColumns+" FROM api_keys k"+where.sql()+" ORDER BY k.created_at, k.id", where.args...)
	keys, err := collect(rows, err, scanKey)
	if err != nil {
		return nil, fmt.Errorf("list keys: %w", err)
	}
	return keys, nil
}

// RevokeKey ends a key of that owner for good; doing it twice is fine.
func (db *DB) RevokeKey(ctx context.Context, owner, id string) error {
	res, err := db.write(ctx, "UPDATE api_keys SET revoked_at = CASE WHEN revoked_at = 0 THEN $3 ELSE revoked_at END WHERE owner_id = $1 AND id = $2",
		owner, id, micros(time.Now()))
	if err != nil && !Absent(err) {
		return fmt.Errorf("revoke key: %w", err)
	}
	if err == nil {
		if n, err := res.RowsAffected(); err != nil || n == 1 {
			return err
		}
	}
	return notFound("key")
}

// TouchKeys notes when keys were last used.
func (db *DB) TouchKeys(ctx context.Context, used map[string]time.Time) error {
	if len(used) == 0 {
		return nil
	}
	err := db.Tx(ctx, func(tx *sql.Tx) error {
		stmt, err := tx.PrepareContext(ctx, "UPDATE api_keys SET last_used_at = $2 WHERE id = $1 AND last_used_at < $2")
		if err != nil {
			return err
		}
		defer stmt.Close()
		for _, id := range sortedKeys(used) { // one order for all replicas, so that none waits in a circle
			if _, err := stmt.ExecContext(ctx, id, micros(used[id])); err != nil {
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

func scanKey(row scanner) (k beeos.Key, err error) {
	var expires, revoked, used, created int64
	err = row.Scan(&k.ID, &k.Kind, &k.OwnerID, &k.AgentID, &k.Name, &k.Prefix, &k.RatePerMinute, &expires, &revoked, &used, &created)
	k.ExpiresAt, k.RevokedAt, k.LastUsedAt, k.CreatedAt = moment(expires), moment(revoked), moment(used), moment(created)
	return k, err
}
