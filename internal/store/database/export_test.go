package database

import "time"

const PostgresConns = postgresConns

// HasPulse reports whether the server has told the time.
func (db *DB) HasPulse() bool { return db.clock.read.Load() != nil }

// SetSignedFor shortens how long a session must have lasted.
func (db *DB) SetSignedFor(d time.Duration) { db.pulse.signedFor = d }

// SetClock notes what the time is at a moment.
func (db *DB) SetClock(at, now time.Time) { db.clock.set(at, now) }
