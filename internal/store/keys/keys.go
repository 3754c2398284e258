// Package keys keeps API keys, as hashes.
package keys

import (
	"context"
	"database/sql"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store/agents"
	"github.com/beeos/beeos/internal/store/database"
)

// Table keeps API keys, as hashes.
type Table struct{ db *database.DB }

// New returns the tables of db.
func New(db *database.DB) *Table { return &Table{db: db} }

const keyColumns = "id, kind, owner_id, agent_id, name, prefix, rate_per_minute, expires_at, revoked_at, last_used_at, created_at"

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
		return errNegativeRate()
	}
	if !k.ExpiresAt.IsZero() && !k.ExpiresAt.After(k.CreatedAt) {
		return beeos.Errorf(beeos.InvalidParam, "expires_at lies in the past; choose a later time, or leave it out")
	}
	return tb.db.Tx(ctx, "create key", func(tx *sql.Tx) error {
		if k.Kind == beeos.AgentKey {
			if err := reserveAgentKey(ctx, tx, k); err != nil {
				return err
			}
		}
		return database.Insert(ctx, tx, "insert key", "api_keys", "hash, "+keyColumns, append([]any{hash}, keyFields(&k)...)...)
	})
}

// reserveAgentKey locks the agent's row, so that two requests cannot both see
// room for one more key.
func reserveAgentKey(ctx context.Context, tx *sql.Tx, k beeos.Key) error {
	err := database.ChangeOne(ctx, tx, "lock agent", agents.NotFound(), "UPDATE agents SET owner_id = owner_id WHERE id = $1 AND owner_id = $2 AND NOT deleted", k.AgentID, k.OwnerID)
	if err != nil {
		return err
	}
	active, err := database.GetValue[int](ctx, tx, "count keys",
		"SELECT count(*) FROM api_keys WHERE agent_id = $1 AND agent_id <> '' AND revoked_at = 0 AND (expires_at = 0 OR expires_at > $2)", k.AgentID, database.Micros(k.CreatedAt))
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
	return tb.get(ctx, "hash = $1", hash)
}

// Get returns the key with that id, on the same terms.
func (tb *Table) Get(ctx context.Context, id string) (beeos.Key, error) {
	return tb.get(ctx, "id = $1", id)
}

func (tb *Table) get(ctx context.Context, which string, value any) (beeos.Key, error) {
	return database.Get(ctx, tb.db, "read key", database.NotFound("key"), keyFields,
		"SELECT "+keyColumns+" FROM api_keys WHERE "+which+" AND EXISTS (SELECT 1 FROM users WHERE users.id = api_keys.owner_id AND disabled_at = 0)", value)
}

// List lists keys, the oldest first, revoked ones included.
func (tb *Table) List(ctx context.Context, f Filter) ([]beeos.Key, error) {
	where := database.Conditions{}
	where.AddUnlessEmpty("owner_id = ?", f.Owner)
	where.AddUnlessEmpty("agent_id = ?", f.AgentID)
	where.AddUnlessEmpty("kind = ?", string(f.Kind))
	if f.AgentID != "" {
		where.Text("agent_id <> ''") // lets SQLite use the partial index
	}
	return database.List(ctx, tb.db, "list keys", keyFields, "SELECT "+keyColumns+" FROM api_keys"+where.SQL()+" ORDER BY created_at, id", where.Args...)
}

// Revoke ends a key of that owner for good; doing it twice is fine.
func (tb *Table) Revoke(ctx context.Context, owner, id string) error {
	return database.ChangeOne(ctx, tb.db, "revoke key", database.NotFound("key"),
		"UPDATE api_keys SET revoked_at = CASE WHEN revoked_at = 0 THEN $3 ELSE revoked_at END WHERE owner_id = $1 AND id = $2", owner, id, database.Micros(time.Now()))
}

// SetRate changes how many calls a minute a key of that owner may make to one
// agent; 0 = the default. A revoked key is NotFound.
func (tb *Table) SetRate(ctx context.Context, owner, id string, perMinute int) error {
	if perMinute < 0 {
		return errNegativeRate()
	}
	return database.ChangeOne(ctx, tb.db, "limit key", database.NotFound("key"),
		"UPDATE api_keys SET rate_per_minute = $3 WHERE owner_id = $1 AND id = $2 AND revoked_at = 0", owner, id, perMinute)
}

func errNegativeRate() error {
	return beeos.Errorf(beeos.InvalidParam, "rate_limit_per_minute must be 0 (the default) or more")
}

// Touch notes when keys were last used.
func (tb *Table) Touch(ctx context.Context, used map[string]time.Time) error {
	return tb.db.Touch(ctx, "touch keys", "UPDATE api_keys SET last_used_at = $2 WHERE id = $1 AND last_used_at < $2", used)
}

func keyFields(k *beeos.Key) []any {
	return []any{
		&k.ID, &k.Kind, &k.OwnerID, &k.AgentID, &k.Name, &k.Prefix, &k.RatePerMinute,
		database.Time(&k.ExpiresAt), database.Time(&k.RevokedAt), database.Time(&k.LastUsedAt), database.Time(&k.CreatedAt),
	}
}
