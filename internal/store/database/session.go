package database

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
)

// A killed process and a silent one look alike, but not to PostgreSQL: the kernel
// closes the connections of the one, and its sessions end at once. Those of one that
// is frozen, or behind a network that swallows everything, stay. So the session of
// the pulse holds a lock that has the name of its process.

// lockClass sets our locks apart from others in the database.
const lockClass = 0x6265656f

const (
	signSession = `SELECT pg_try_advisory_lock_shared(CAST($1 AS INTEGER), hashtext($2))`
	findSession = `SELECT EXISTS (SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND granted AND objsubid = 2
		AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
		AND CAST(classid AS BIGINT) = $1 AND CAST(objid AS BIGINT) = CAST(hashtext($2) AS BIGINT) & 4294967295)`
)

// signedFor is how long this process's own session must have lasted before it
// judges others by theirs: a server that has just been started, or took over from
// another one, has none of anybody's yet.
const signedFor = 15 * time.Second

// ErrUnsure is that nothing is known of other processes' sessions.
var ErrUnsure = errors.New("this process's own session has not lasted long enough to judge others")

// sign marks the session of the pulse as this process's.
func (p *pulse) sign(ctx context.Context, conn *pgx.Conn) error {
	if p.name == "" {
		return nil
	}
	within, cancel := context.WithTimeout(ctx, pulseWithin)
	defer cancel()
	if _, err := conn.Exec(within, signSession, lockClass, p.name); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.signed = time.Now()
	return nil
}

// HasSession reports whether the process of that name has a session that it has
// marked as its own. ErrUnsure when that none is there means nothing.
func (db *DB) HasSession(ctx context.Context, name string) (bool, error) {
	if db.pulse == nil {
		return false, ErrUnsure
	}
	has, err := GetValue[bool](ctx, db, "look for a session", findSession, lockClass, name)
	if err != nil || has {
		return has, err
	}
	db.pulse.mu.Lock()
	signed := db.pulse.signed
	db.pulse.mu.Unlock()
	if signed.IsZero() || time.Since(signed) < db.pulse.signedFor {
		return false, ErrUnsure
	}
	return false, nil
}
