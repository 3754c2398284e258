// Package verify looks for damage in a ledger, live or stopped, on either
// database: Run reads one moment of it, changes nothing, and says what is wrong
// with which id. messages.go goes through channels and their messages,
// deliveries.go through what is under way, files.go and secrets.go through what
// lies outside of the tables or is sealed inside them.
//
// What is reported cannot come about by crashes, races or retention, however
// unlucky. So a gap in a channel is not always damage: a final reply that comes
// second is refused, and its offset stays unused.
package verify

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/beeos/beeos/internal/store"
	"github.com/beeos/beeos/internal/store/database"
)

// Blobs is where the bytes of files lie.
type Blobs interface {
	Open(ctx context.Context, id string) (io.ReadSeekCloser, error)
}

// Options is what Run needs besides the database.
type Options struct {
	Blobs Blobs            // nil = the bytes of files are not looked at
	Now   func() time.Time // nil = time.Now
}

// Finding is one thing that is wrong.
type Finding struct {
	Check   string `json:"check"`
	ID      string `json:"id,omitempty"` // of what it is wrong with; empty = the whole database
	Problem string `json:"problem"`
}

// Check is what was looked at under one name.
type Check struct {
	Name     string `json:"check"`
	Looked   string `json:"looked_at"` // at what, in words
	Problems int    `json:"problems"`
}

// Report is what Run found.
type Report struct {
	Checks   []Check   `json:"checks"`
	Findings []Finding `json:"findings"` // the first mostFindings of each check
}

// Clean reports whether nothing is wrong.
func (r *Report) Clean() bool { return len(r.Findings) == 0 }

// mostFindings of one check are told; one lost table would fill a disk otherwise.
const mostFindings = 100

// Run checks the whole database. The error says why that was not possible.
func Run(ctx context.Context, db *store.Store, opt Options) (Report, error) {
	tx, err := db.Snapshot(ctx)
	if err != nil {
		return Report{}, fmt.Errorf("verify: %w", err)
	}
	defer tx.Rollback() //nolint:errcheck // it only reads
	return run(ctx, tx, db.Postgres, opt)
}

// run is Run inside a transaction.
func run(ctx context.Context, tx *sql.Tx, postgres bool, opt Options) (Report, error) {
	if opt.Now == nil {
		opt.Now = time.Now
	}
	c := &checker{ctx: ctx, tx: tx, postgres: postgres, opt: opt, report: Report{Findings: []Finding{}}, routes: map[int64]bool{}, open: map[string]*delivery{}}
	for _, check := range []struct {
		name string
		do   func() (looked string, err error)
	}{
		{"database", c.checkDatabase},
		{"routes", c.readRoutes},
		{"deliveries", c.readDeliveries},
		{"messages", c.checkMessages},
		{"lanes", c.checkLanes},
		{"files", c.checkFiles},
		{"secrets", c.checkSecrets},
	} {
		c.now, c.problems = check.name, 0
		looked, err := check.do()
		if err := ctx.Err(); err != nil {
			return c.report, err
		}
		if err != nil { // a damaged file often shows by this alone; the others may still be read
			c.find("", "it cannot be read to its end: %v", err)
		}
		c.report.Checks = append(c.report.Checks, Check{Name: check.name, Looked: looked, Problems: c.problems})
	}
	return c.report, nil
}

// checker is one run.
type checker struct {
	ctx      context.Context
	tx       *sql.Tx
	postgres bool
	opt      Options
	report   Report

	now      string // the check under way
	problems int    // that it found

	routes map[int64]bool
	open   map[string]*delivery // by the request that is under way
}

// find notes something that is wrong.
func (c *checker) find(id, format string, args ...any) {
	if c.problems++; c.problems <= mostFindings {
		c.report.Findings = append(c.report.Findings, Finding{Check: c.now, ID: id, Problem: fmt.Sprintf(format, args...)})
	}
}

// each runs a query and hands every row to read.
func (c *checker) each(query string, read func(*sql.Rows) error, args ...any) error {
	rows, err := c.tx.QueryContext(c.ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := read(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// checkDatabase has SQLite look at its own pages, indexes and foreign keys.
// PostgreSQL looks after its own, all the time.
func (c *checker) checkDatabase() (string, error) {
	if c.postgres {
		return c.readTimeline()
	}
	err := c.each(fmt.Sprintf("PRAGMA quick_check(%d)", mostFindings), func(r *sql.Rows) error {
		var says string
		err := r.Scan(&says)
		if err == nil && says != "ok" {
			c.find("", "%s", says)
		}
		return err
	})
	strays := c.each("PRAGMA foreign_key_check", func(r *sql.Rows) error {
		var table, parent string
		var row, key sql.NullInt64
		err := r.Scan(&table, &row, &parent, &key)
		c.find(fmt.Sprintf("%s row %d", table, row.Int64), "it names a row of %s that is not there", parent)
		return err
	})
	return "pages, indexes and foreign keys", errors.Join(err, strays)
}

// readTimeline tells whether a standby has taken over. What it had not received then
// is gone without a trace, so that there is nothing to be found here.
func (c *checker) readTimeline() (looked string, err error) {
	looked = "PostgreSQL's own checks"
	err = c.each(`SELECT CASE WHEN pg_is_in_recovery() THEN 1 ELSE CAST(CAST('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) AS BIT(32)) AS INTEGER) END`, func(r *sql.Rows) error {
		var timeline int
		err := r.Scan(&timeline)
		if timeline > 1 {
			looked += fmt.Sprintf("; it is on timeline %d, so a standby took over or a backup was restored, and what that had not received cannot be found missing", timeline)
		}
		return err
	})
	return looked, err
}

// readRoutes reads the numbers of all routes, and checks who uses them besides
// messages and deliveries.
func (c *checker) readRoutes() (string, error) {
	err := c.each("SELECT id FROM routes", func(r *sql.Rows) error {
		var id int64
		err := r.Scan(&id)
		c.routes[id] = true
		return err
	})
	if err != nil {
		return "", err
	}
	err = c.each("SELECT DISTINCT route FROM usage", func(r *sql.Rows) error {
		var route int64
		err := r.Scan(&route)
		if err == nil && !c.routes[route] {
			c.find(fmt.Sprintf("route %d", route), "usage was counted for it, and it is not there")
		}
		return err
	})
	return count(len(c.routes), "route"), err
}

// count says how many there are of something.
func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// list reads all rows of a query.
func list[T any](c *checker, fields func(*T) []any, query string, args ...any) ([]T, error) {
	return database.List(c.ctx, c.tx, "read "+c.now, fields, query, args...)
}
