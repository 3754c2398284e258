// Package sessions keeps what replicas must know about MCP sessions: which have
// ended, their log levels and subscriptions.
package sessions

import (
	"context"
	"time"

	"github.com/beeos/beeos/internal/store/database"
)

// Table keeps what replicas must know about MCP sessions.
type Table struct{ db *database.DB }

// New returns the tables of db.
func New(db *database.DB) *Table { return &Table{db: db} }

// What MCP sessions leave behind. A session itself lives in its client's hands.

// Ended is one that must not open again until it would have ended by
// itself.
type Ended struct {
	ID      string
	Owner   string // whose it was
	EndedAt time.Time
	Expires time.Time
}

// What one owner's sessions leave behind is bounded: beyond this many, what
// would be the first to expire goes. An ended session that is forgotten opens
// again, for the same owner, who could as well begin a new one.
const (
	MarksPerOwner         = 1000
	SubscriptionsPerOwner = 10_000
)

// endedMost is how many ended sessions are read at once, the latest first.
const endedMost = 100_000

// End notes that a session is over, and forgets what it watched.
func (tb *Table) End(ctx context.Context, s Ended) error {
	err := database.Exec(ctx, tb.db, "end session", `INSERT INTO mcp_sessions (id, owner, level, ended_at, expires_at) VALUES ($1, $2, '', $3, $4)
		ON CONFLICT (id) DO UPDATE SET ended_at = excluded.ended_at`, s.ID, s.Owner, database.Micros(s.EndedAt), database.Micros(s.Expires))
	if err == nil {
		err = database.Exec(ctx, tb.db, "end session", "DELETE FROM mcp_subscriptions WHERE session = $1", s.ID)
	}
	if err == nil {
		err = tb.bound(ctx, "mcp_sessions", s.Owner, MarksPerOwner)
	}
	return err
}

// bound keeps so many rows of an owner's, and those that expire with the last
// of them.
func (tb *Table) bound(ctx context.Context, table, owner string, most int) error {
	return database.Exec(ctx, tb.db, "bound "+table, "DELETE FROM "+table+" WHERE owner = $1 AND expires_at < (SELECT expires_at FROM "+table+
		" WHERE owner = $1 ORDER BY expires_at DESC LIMIT 1 OFFSET $2)", owner, most-1)
}

// ListEnded returns the sessions that were ended at or after since, the latest
// first.
func (tb *Table) ListEnded(ctx context.Context, since time.Time) ([]Ended, error) {
	return database.List(ctx, tb.db, "list ended sessions", func(s *Ended) []any {
		return []any{&s.ID, database.Time(&s.EndedAt), database.Time(&s.Expires)}
	}, "SELECT id, ended_at, expires_at FROM mcp_sessions WHERE ended_at > 0 AND ended_at >= $1 ORDER BY ended_at DESC LIMIT $2", database.Micros(since), endedMost)
}

// SetLevel keeps the least severe log message that a session wants.
func (tb *Table) SetLevel(ctx context.Context, owner, session, level string, expires time.Time) error {
	err := database.Exec(ctx, tb.db, "keep log level", `INSERT INTO mcp_sessions (id, owner, level, ended_at, expires_at) VALUES ($1, $2, $3, 0, $4)
		ON CONFLICT (id) DO UPDATE SET level = excluded.level`, session, owner, level, database.Micros(expires))
	if err != nil {
		return err
	}
	return tb.bound(ctx, "mcp_sessions", owner, MarksPerOwner)
}

// GetLevel returns "" for a session that never set one.
func (tb *Table) GetLevel(ctx context.Context, session string) (level string, err error) {
	return database.GetValue[string](ctx, tb.db, "read log level", "SELECT level FROM mcp_sessions WHERE id = $1", session)
}

// Subscribe notes that a session watches a resource.
func (tb *Table) Subscribe(ctx context.Context, owner, session, uri string, expires time.Time) error {
	err := database.Exec(ctx, tb.db, "subscribe", "INSERT INTO mcp_subscriptions (session, owner, uri, expires_at) VALUES ($1, $2, $3, $4) ON CONFLICT (session, uri) DO NOTHING",
		session, owner, uri, database.Micros(expires))
	if err != nil {
		return err
	}
	return tb.bound(ctx, "mcp_subscriptions", owner, SubscriptionsPerOwner)
}

// Unsubscribe takes Subscribe back.
func (tb *Table) Unsubscribe(ctx context.Context, session, uri string) error {
	return database.Exec(ctx, tb.db, "unsubscribe", "DELETE FROM mcp_subscriptions WHERE session = $1 AND uri = $2", session, uri)
}

// ListSubscriptions returns what a session watches.
func (tb *Table) ListSubscriptions(ctx context.Context, session string) ([]string, error) {
	return database.ListTexts(ctx, tb.db, "list subscriptions", "SELECT uri FROM mcp_subscriptions WHERE session = $1 ORDER BY uri", session)
}
