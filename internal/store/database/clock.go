package database

import (
	"sync/atomic"
	"time"
)

// clock is what time it is for all who share the database: leases and deadlines
// that one node writes are read by others, and their own clocks may differ. On
// PostgreSQL it is the server's time when the pulse asked last, and what has passed
// since by the clock that nobody can set. SQLite is one process, with a clock of
// its own.
type clock struct {
	read   atomic.Pointer[reading]
	jumped atomic.Pointer[time.Time] // when the time was last found to have been set
}

// reading is what the time was at a moment.
type reading struct {
	at   time.Time // here, where only what passes between two moments is looked at
	time time.Time
}

// jump is by how much a clock is off, or has moved by itself, before it matters.
const jump = 2 * time.Second

// Now is the time by the database.
func (db *DB) Now() time.Time {
	r := db.clock.read.Load()
	if r == nil || !db.Postgres {
		return time.Now()
	}
	return r.time.Add(time.Since(r.at))
}

// Ahead is how far this process's clock is ahead of the database's; below zero it
// is behind.
func (db *DB) Ahead() time.Duration {
	r := db.clock.read.Load()
	if r == nil || !db.Postgres {
		return 0
	}
	now := time.Now()
	return now.Round(0).Sub(r.time.Add(now.Sub(r.at)))
}

// IsOff reports whether this process's clock is wrong, by the database's: what it
// signs and dates is then wrong for others.
func (db *DB) IsOff() bool { return db.Ahead().Abs() > jump }

// JumpedWithin reports whether the time of the database was set within so long
// ago: what is dated by it did not last as long as it seems.
func (db *DB) JumpedWithin(d time.Duration) bool {
	if !db.Postgres {
		now := time.Now()
		db.clock.set(now, now.Round(0))
	}
	at := db.clock.jumped.Load()
	return at != nil && time.Since(*at) < d
}

// set notes what the time is at a moment.
func (c *clock) set(at, now time.Time) {
	if before := c.read.Load(); before != nil && now.Sub(before.time.Add(at.Sub(before.at))).Abs() > jump {
		c.jumped.Store(&at) // before anybody reads the new time
	}
	c.read.Store(&reading{at: at, time: now})
}
