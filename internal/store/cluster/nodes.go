// Package cluster keeps what nodes share: who they are, secrets, nonces that
// were used, and quotas that all of them draw from.
package cluster

import (
	"context"
	"database/sql"
	"time"

	"github.com/beeos/beeos/internal/store/database"
)

// Table keeps what nodes share: secrets, nonces, quotas and who they are.
type Table struct {
	db     *database.DB
	nonces *database.Batch
}

// New returns the tables of db.
func New(db *database.DB) *Table {
	return &Table{db: db, nonces: db.NewBatch("use nonce", useNonce)}
}

// Shareable reports whether other nodes can use the same database.
func (tb *Table) Shareable() bool { return tb.db.Postgres }

// What replicas share: secrets that all of them must agree on, nonces that
// only one of them may accept, and where each of them can be reached.

// Secret returns the secret of that name. The first caller's make decides its
// value, once and for every replica; the others' values are thrown away.
func (tb *Table) Secret(ctx context.Context, name string, make func() []byte) ([]byte, error) {
	value, err := tb.secret(ctx, name)
	if err != nil || value != nil {
		return value, err
	}
	if err := database.Exec(ctx, tb.db, "keep secret "+name, "INSERT INTO secrets (name, value) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING", name, make()); err != nil {
		return nil, err
	}
	return tb.secret(ctx, name)
}

func (tb *Table) secret(ctx context.Context, name string) ([]byte, error) {
	return database.GetValue[[]byte](ctx, tb.db, "read secret "+name, "SELECT value FROM secrets WHERE name = $1", name)
}

const useNonce = "INSERT INTO nonces (key_id, nonce, expires_at) VALUES ($1, $2, $3) ON CONFLICT (key_id, nonce) DO NOTHING"

// UseNonce reports whether nobody has used this nonce of the key before; it
// is remembered until expires.
func (tb *Table) UseNonce(ctx context.Context, keyID, nonce string, expires time.Time) (fresh bool, err error) {
	return tb.nonces.Change(ctx, keyID+":"+nonce, keyID, nonce, database.Micros(expires))
}

// Prune forgets what ended before the given time: nonces, join tokens, marks of
// MCP sessions, drawn quotas, logins, links, failed sign-ins and consents. Nodes
// are forgotten that died long ago.
func (tb *Table) Prune(ctx context.Context, before time.Time) error {
	for _, table := range []string{"nonces", "join_tokens", "mcp_sessions", "mcp_subscriptions", "quotas", "logins", "links", "signin_failures", "skill_consents"} {
		if err := database.Exec(ctx, tb.db, "prune "+table, "DELETE FROM "+table+" WHERE expires_at < $1", database.Micros(before)); err != nil {
			return err
		}
	}
	return tb.pruneNodes(ctx)
}

// Now is the time by which nodes say that they are alive.
func (tb *Table) Now() time.Time { return tb.db.Now() }

// A node says once in BeatEvery that it is alive. One that has not for SilentAfter
// has lost the database or is dead, and the row of one that has not for KeptFor
// goes. The version before this one says so every five seconds.
const (
	BeatEvery   = time.Second
	SilentAfter = 3 * time.Second
	KeptFor     = time.Hour

	afterJump = 10 * time.Second // until all have said so by the time as it is then
)

// Node is one running server and the address where others join it.
type Node struct {
	ID       string
	RouteURL string
	SeenAt   time.Time
}

// IsSilent reports whether a node has given no sign of life for a while. None is
// silent because the time was set.
func (tb *Table) IsSilent(n Node) bool {
	return tb.db.Now().Sub(n.SeenAt) > SilentAfter && !tb.db.JumpedWithin(afterJump)
}

// HasGoneSilent reports whether a node has given no sign of life for a while, or
// has said that it stops.
func (tb *Table) HasGoneSilent(ctx context.Context, id string) (bool, error) {
	seen, err := database.GetValue[int64](ctx, tb.db, "look for a node", "SELECT COALESCE(MAX(seen_at), 0) FROM nodes WHERE id = $1", id)
	return err == nil && tb.IsSilent(Node{ID: id, SeenAt: database.Moment(seen)}), err
}

// PutNode says that a node is alive.
func (tb *Table) PutNode(ctx context.Context, n Node) error {
	return database.Exec(ctx, tb.db, "put node", `INSERT INTO nodes (id, route_url, seen_at) VALUES ($1, $2, $3)
		ON CONFLICT (id) DO UPDATE SET route_url = excluded.route_url, seen_at = excluded.seen_at`, n.ID, n.RouteURL, database.Micros(n.SeenAt))
}

// ListNodes returns the nodes seen since then, in a stable order.
func (tb *Table) ListNodes(ctx context.Context, since time.Time) ([]Node, error) {
	return database.List(ctx, tb.db, "list nodes", func(n *Node) []any { return []any{&n.ID, &n.RouteURL, database.Time(&n.SeenAt)} },
		"SELECT id, route_url, seen_at FROM nodes WHERE seen_at >= $1 ORDER BY id", database.Micros(since))
}

// DropNode forgets a node that has stopped.
func (tb *Table) DropNode(ctx context.Context, id string) error {
	return database.Exec(ctx, tb.db, "drop node", "DELETE FROM nodes WHERE id = $1", id)
}

// pruneNodes forgets nodes that died long ago, and that they ran built-in agents:
// of those that are stopped nobody else takes note.
func (tb *Table) pruneNodes(ctx context.Context) error {
	if tb.db.JumpedWithin(afterJump) {
		return nil
	}
	before := database.Micros(tb.db.Now().Add(-KeptFor))
	return tb.db.Tx(ctx, "prune nodes", func(tx *sql.Tx) error {
		err := database.Exec(ctx, tx, "release built-in agents", "UPDATE builtin_agents SET node = '' WHERE node IN (SELECT id FROM nodes WHERE seen_at < $1)", before)
		if err != nil {
			return err
		}
		return database.Exec(ctx, tx, "prune nodes", "DELETE FROM nodes WHERE seen_at < $1", before)
	})
}
