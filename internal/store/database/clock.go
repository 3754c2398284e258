package database

import (
	"context"
	"log/slog"
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
	warned bool                      // that this process's clock is off; the pulse alone looks at it
}

// reading is what the time was at a moment.
type reading struct {
	at    time.Time // here, where only what passes between two moments is looked at
	time  time.Time
	least time.Time // what was told by the reading before: what is dated next is no older
}

// after is the time at a later moment.
func (r *reading) after(at time.Time) time.Time {
	t := r.time.Add(at.Sub(r.at))
	if t.Before(r.least) {
		return r.least
	}
	return t
}

// jump is by how much a clock is off, or has moved by itself, before it matters.
const jump = 2 * time.Second

// Now is the time by the database.
func (db *DB) Now() time.Time {
	r := db.clock.read.Load()
	if r == nil || !db.Postgres {
		return time.Now()
	}
	return r.after(time.Now())
}

// Ahead is how far this process's clock is ahead of the database's; below zero it
// is behind.
func (db *DB) Ahead() time.Duration {
	if !db.Postgres {
		return 0
	}
	return db.clock.ahead()
}

// ReadClock asks the database for the time, and tells how far this process's clock
// is ahead.
func (db *DB) ReadClock(ctx context.Context) (time.Duration, error) {
	if !db.Postgres {
		return 0, nil
	}
	sent := time.Now()
	micros, err := GetValue[int64](ctx, db, "read the clock", askTime)
	if err == nil {
		db.clock.set(sent.Add(time.Since(sent)/2), Moment(micros))
	}
	return db.Ahead(), err
}

func (c *clock) ahead() time.Duration {
	r := c.read.Load()
	if r == nil {
		return 0
	}
	now := time.Now()
	return now.Round(0).Sub(r.time.Add(now.Sub(r.at)))
}

// IsOff reports whether this process's clock is wrong, by the database's: what it
// signs and dates is then wrong for others.
func (db *DB) IsOff() bool { return db.Ahead().Abs() > jump }

// note sets what the time is at a moment, and logs when that is not what this
// process thought.
func (c *clock) note(at, now time.Time, log *slog.Logger) {
	if c.set(at, now) {
		log.Warn("the clock of the database was set; for a while nothing is ended because its time is over")
	}
	ahead := c.ahead()
	if off := ahead.Abs() > jump; off != c.warned {
		c.warned = off
		log.Warn("this machine's clock and the database's differ; leases and deadlines go by the database's, what is signed and dated here by this one: set both by NTP",
			"ahead", ahead.Round(time.Millisecond), "off", off)
	}
}

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

// set sets what the time is at a moment, and reports whether it should have been
// another one.
func (c *clock) set(at, now time.Time) (jumped bool) {
	before := c.read.Load()
	if jumped = before != nil && now.Sub(before.time.Add(at.Sub(before.at))).Abs() > jump; jumped {
		c.jumped.Store(&at) // before anybody reads the new time
	}
	next := &reading{at: at, time: now}
	if before != nil && !jumped { // how long an answer took makes a reading a little early or late
		next.least = before.after(time.Now())
	}
	c.read.Store(next)
	return jumped
}
