// Package sessions keeps what replicas must know about MCP sessions: which have
// ended, their log levels and subscriptions.
package sessions

import (
	"context"
	"fmt"
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
	EndedAt time.Time
	Expires time.Time
}

// End notes that a session is over, and forgets what it watched.
func (tb *Table) End(ctx context.Context, s Ended) error {
	_, err := tb.db.Write(ctx, `INSERT INTO mcp_sessions (id, level, ended_at, expires_at) VALUES ($1, '', $2, $3)
		ON CONFLICT (id) DO UPDATE SET ended_at = excluded.ended_at`, s.ID, database.Micros(s.EndedAt), database.Micros(s.Expires))
	if err == nil {
		_, err = tb.db.Write(ctx, "DELETE FROM mcp_subscriptions WHERE session = $1", s.ID)
	}
	if err != nil {
		return fmt.Errorf("end session: %w", err)
	}
	return nil
}

// ListEnded returns the sessions that were ended at or after since.
func (tb *Table) ListEnded(ctx context.Context, since time.Time) ([]Ended, error) {
	rows, err := tb.db.QueryContext(ctx, "SELECT id, ended_at, expires_at FROM mcp_sessions WHERE ended_at > 0 AND ended_at >= $1", database.Micros(since))
	list, err := database.Collect(rows, err, func(row database.Scanner) (s Ended, err error) {
		var ended, expires int64
		err = row.Scan(&s.ID, &ended, &expires)
		s.EndedAt, s.Expires = database.Moment(ended), database.Moment(expires)
		return s, err
	})
	if err != nil {
		return nil, fmt.Errorf("list ended sessions: %w", err)
	}
	return list, nil
}

// SetLevel keeps the least severe log message that a session wants.
func (tb *Table) SetLevel(ctx context.Context, session, level string, expires time.Time) error {
	_, err := tb.db.Write(ctx, `INSERT INTO mcp_sessions (id, level, ended_at, expires_at) VALUES ($1, $2, 0, $3)
		ON CONFLICT (id) DO UPDATE SET level = excluded.level`, session, level, database.Micros(expires))
	if err != nil {
		return fmt.Errorf("keep log level: %w", err)
	}
	return nil
}

// GetLevel returns "" for a session that never set one.
func (tb *Table) GetLevel(ctx context.Context, session string) (level string, err error) {
	err = tb.db.QueryRowContext(ctx, "SELECT level FROM mcp_sessions WHERE id = $1", session).Scan(&level)
	if err != nil && !database.IsAbsent(err) {
		return "", fmt.Errorf("read log level: %w", err)
	}
	return level, nil
}

// Subscribe notes that a session watches a resource.
func (tb *Table) Subscribe(ctx context.Context, session, uri string, expires time.Time) error {
	_, err := tb.db.Write(ctx, "INSERT INTO mcp_subscriptions (session, uri, expires_at) VALUES ($1, $2, $3) ON CONFLICT (session, uri) DO NOTHING",
		session, uri, database.Micros(expires))
	if err != nil {
		return fmt.Errorf("subscribe: %w", err)
	}
	return nil
}

// Unsubscribe takes Subscribe back.
func (tb *Table) Unsubscribe(ctx context.Context, session, uri string) error {
	if _, err := tb.db.Write(ctx, "DELETE FROM mcp_subscriptions WHERE session = $1 AND uri = $2", session, uri); err != nil {
		return fmt.Errorf("unsubscribe: %w", err)
	}
	return nil
}

// ListSubscriptions returns what a session watches.
func (tb *Table) ListSubscriptions(ctx context.Context, session string) ([]string, error) {
	list, err := database.ReadTexts(ctx, tb.db, "SELECT uri FROM mcp_subscriptions WHERE session = $1 ORDER BY uri", session)
	if err != nil {
		return nil, fmt.Errorf("list subscriptions: %w", err)
	}
	return list, nil
}
