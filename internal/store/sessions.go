package store

import (
	"context"
	"fmt"
	"time"
)

// What MCP sessions leave behind. A session itself lives in its client's hands.

// EndedSession is one that must not open again until it would have ended by
// itself.
type EndedSession struct {
	ID      string
	EndedAt time.Time
	Expires time.Time
}

// EndSession notes that a session is over, and forgets what it watched.
func (db *DB) EndSession(ctx context.Context, s EndedSession) error {
	_, err := db.write(ctx, `INSERT INTO mcp_sessions (id, level, ended_at, expires_at) VALUES ($1, '', $2, $3)
		ON CONFLICT (id) DO UPDATE SET ended_at = excluded.ended_at`, s.ID, micros(s.EndedAt), micros(s.Expires))
	if err == nil {
		_, err = db.write(ctx, "DELETE FROM mcp_subscriptions WHERE session = $1", s.ID)
	}
	if err != nil {
		return fmt.Errorf("end session: %w", err)
	}
	return nil
}

// EndedSessions returns the sessions that were ended at or after since.
func (db *DB) EndedSessions(ctx context.Context, since time.Time) ([]EndedSession, error) {
	rows, err := db.QueryContext(ctx, "SELECT id, ended_at, expires_at FROM mcp_sessions WHERE ended_at > 0 AND ended_at >= $1", micros(since))
	list, err := collect(rows, err, func(row scanner) (s EndedSession, err error) {
		var ended, expires int64
		err = row.Scan(&s.ID, &ended, &expires)
		s.EndedAt, s.Expires = moment(ended), moment(expires)
		return s, err
	})
	if err != nil {
		return nil, fmt.Errorf("list ended sessions: %w", err)
	}
	return list, nil
}

// SetSessionLevel keeps the least severe log message that a session wants.
func (db *DB) SetSessionLevel(ctx context.Context, session, level string, expires time.Time) error {
	_, err := db.write(ctx, `INSERT INTO mcp_sessions (id, level, ended_at, expires_at) VALUES ($1, $2, 0, $3)
		ON CONFLICT (id) DO UPDATE SET level = excluded.level`, session, level, micros(expires))
	if err != nil {
		return fmt.Errorf("keep log level: %w", err)
	}
	return nil
}

// SessionLevel returns "" for a session that never set one.
func (db *DB) SessionLevel(ctx context.Context, session string) (level string, err error) {
	err = db.QueryRowContext(ctx, "SELECT level FROM mcp_sessions WHERE id = $1", session).Scan(&level)
	if err != nil && !Absent(err) {
		return "", fmt.Errorf("read log level: %w", err)
	}
	return level, nil
}

// Subscribe notes that a session watches a resource.
func (db *DB) Subscribe(ctx context.Context, session, uri string, expires time.Time) error {
	_, err := db.write(ctx, "INSERT INTO mcp_subscriptions (session, uri, expires_at) VALUES ($1, $2, $3) ON CONFLICT (session, uri) DO NOTHING",
		session, uri, micros(expires))
	if err != nil {
		return fmt.Errorf("subscribe: %w", err)
	}
	return nil
}

// Unsubscribe takes Subscribe back.
func (db *DB) Unsubscribe(ctx context.Context, session, uri string) error {
	if _, err := db.write(ctx, "DELETE FROM mcp_subscriptions WHERE session = $1 AND uri = $2", session, uri); err != nil {
		return fmt.Errorf("unsubscribe: %w", err)
	}
	return nil
}

// Subscriptions returns what a session watches.
func (db *DB) Subscriptions(ctx context.Context, session string) ([]string, error) {
	list, err := texts(ctx, db, "SELECT uri FROM mcp_subscriptions WHERE session = $1 ORDER BY uri", session)
	if err != nil {
		return nil, fmt.Errorf("list subscriptions: %w", err)
	}
	return list, nil
}
