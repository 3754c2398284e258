package store

import (
	"context"
	"fmt"
	"time"
)

// What replicas share: secrets that all of them must agree on, nonces that
// only one of them may accept, and where each of them can be reached.

// Secret returns the secret of that name. The first caller's make decides its
// value, once and for every replica; the others' values are thrown away.
func (db *DB) Secret(ctx context.Context, name string, make func() []byte) ([]byte, error) {
	value, err := db.secret(ctx, name)
	if err != nil || value != nil {
		return value, err
	}
	if _, err := db.write(ctx, "INSERT INTO secrets (name, value) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING", name, make()); err != nil {
		return nil, fmt.Errorf("keep secret %s: %w", name, err)
	}
	return db.secret(ctx, name)
}

func (db *DB) secret(ctx context.Context, name string) ([]byte, error) {
	var value []byte
	err := db.QueryRowContext(ctx, "SELECT value FROM secrets WHERE name = $1", name).Scan(&value)
	if err != nil && !Absent(err) {
		return nil, fmt.Errorf("read secret %s: %w", name, err)
	}
	return value, nil
}

// UseNonce reports whether nobody has used this nonce of the key before; it
// is remembered until expires.
func (db *DB) UseNonce(ctx context.Context, keyID, nonce string, expires time.Time) (fresh bool, err error) {
	res, err := db.write(ctx, "INSERT INTO nonces (key_id, nonce, expires_at) VALUES ($1, $2, $3) ON CONFLICT (key_id, nonce) DO NOTHING",
		keyID, nonce, micros(expires))
	if err != nil {
		return false, fmt.Errorf("use nonce: %w", err)
	}
	n, err := res.RowsAffected()
	return n == 1, err
}

// Prune forgets what ended before the given time: nonces, join tokens, marks of
// MCP sessions, drawn quotas, logins, links, failed sign-ins and consents.
func (db *DB) Prune(ctx context.Context, before time.Time) error {
	for _, table := range []string{"nonces", "join_tokens", "mcp_sessions", "mcp_subscriptions", "quotas", "logins", "links", "signin_failures", "skill_consents"} {
		if _, err := db.write(ctx, "DELETE FROM "+table+" WHERE expires_at < $1", micros(before)); err != nil {
			return fmt.Errorf("prune %s: %w", table, err)
		}
	}
	return nil
}

// Node is one running server and the address where others join it.
type Node struct {
	ID       string
	RouteURL string
	SeenAt   time.Time
}

// PutNode says that a node is alive.
func (db *DB) PutNode(ctx context.Context, n Node) error {
	_, err := db.write(ctx, `INSERT INTO nodes (id, route_url, seen_at) VALUES ($1, $2, $3)
		ON CONFLICT (id) DO UPDATE SET route_url = excluded.route_url, seen_at = excluded.seen_at`, n.ID, n.RouteURL, micros(n.SeenAt))
	if err != nil {
		return fmt.Errorf("put node: %w", err)
	}
	return nil
}

// Nodes returns the nodes seen since then, in a stable order.
func (db *DB) Nodes(ctx context.Context, since time.Time) ([]Node, error) {
	rows, err := db.QueryContext(ctx, "SELECT id, route_url, seen_at FROM nodes WHERE seen_at >= $1 ORDER BY id", micros(since))
	nodes, err := collect(rows, err, func(row scanner) (n Node, err error) {
		var seen int64
		err = row.Scan(&n.ID, &n.RouteURL, &seen)
		n.SeenAt = moment(seen)
		return n, err
	})
	if err != nil {
		return nil, fmt.Errorf("list nodes: %w", err)
	}
	return nodes, nil
}

// DropNode forgets a node that has stopped.
func (db *DB) DropNode(ctx context.Context, id string) error {
	if _, err := db.write(ctx, "DELETE FROM nodes WHERE id = $1", id); err != nil {
		return fmt.Errorf("drop node: %w", err)
	}
	return nil
}
