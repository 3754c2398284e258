package database

import "time"

const PostgresConns = postgresConns

// HasPulse reports whether the server has told the time.
func (db *DB) HasPulse() bool { return db.clock.read.Load() != nil }

// SetClock notes what the time is at a moment.
func (db *DB) SetClock(at, now time.Time) { db.clock.set(at, now) }
