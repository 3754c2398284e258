// Package database is the one handle to the database, and what all tables
// share: transactions that run again when the database asks for it, the words
// of a query, and what the errors of SQLite (sqlite.go) and PostgreSQL
// (postgres.go, stale_unix.go) mean. There is one SQL dialect; a statement that
// truly differs has two named constants side by side.
package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/beeos/beeos"
)

// DB is the one handle to the database, for this package and for the ledger.
type DB struct {
	*sql.DB
	Postgres bool

	// writing makes SQLite's writers in this process queue up in order
	// instead of polling the file lock; nil on PostgreSQL.
	writing chan struct{}
}

// Open opens the database that dsn names.
func Open(ctx context.Context, dsn string) (*DB, error) {
	scheme, rest, _ := strings.Cut(dsn, ":")
	switch scheme {
	case "sqlite":
		return openSQLite(ctx, rest)
	case "postgres", "postgresql":
		return openPostgres(ctx, dsn)
	}
	// The text may hold a password, so it is not repeated.
	return nil, errors.New("the database URL starts with neither sqlite: nor postgres://; write postgres://user:password@host:5432/database, or leave it empty for SQLite in the data folder")
}

// txTries bounds how often Tx runs its function.
const txTries = 10

// Tx runs fn in a transaction and commits it, unless fn fails. When the
// database asks for it (deadlock, serialization failure, busy file), or its
// connection breaks before the commit, fn runs again from the start, so it must
// not keep anything of an earlier run.
func (db *DB) Tx(ctx context.Context, fn func(*sql.Tx) error) error {
	for try := 1; ; try++ {
		sent, err := db.tryTx(ctx, fn)
		if err == nil || try == txTries || !(passing(err) || !sent && cutOff(err)) {
			return err
		}
		// Wide apart: those who ran into each other must not do so again.
		pause := rand.N(min(time.Second, 4*time.Millisecond<<try))
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return err
		}
	}
}

// tryTx also tells whether COMMIT was sent: when it was, an error can leave
// open whether it took effect.
func (db *DB) tryTx(ctx context.Context, fn func(*sql.Tx) error) (sent bool, err error) {
	unlock, err := db.LockWriter(ctx)
	if err != nil {
		return false, err
	}
	defer unlock()
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return false, err
	}
	defer tx.Rollback() //nolint:errcheck // after a commit it does nothing
	if err := fn(tx); err != nil {
		return false, err
	}
	return true, tx.Commit()
}

// Write runs one writing statement that needs no transaction around it.
func (db *DB) Write(ctx context.Context, query string, args ...any) (sql.Result, error) {
	unlock, err := db.LockWriter(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	return db.ExecContext(ctx, query, args...)
}

// Retryable reports whether the same transaction may work when tried again.
func (db *DB) Retryable(err error) bool { return passing(err) }

// LockWriter waits for this process's turn to write, for those who manage
// their own transactions. On PostgreSQL there is nothing to wait for.
func (db *DB) LockWriter(ctx context.Context) (unlock func(), err error) {
	if db.writing == nil {
		return func() {}, nil
	}
	select {
	case db.writing <- struct{}{}:
		return func() { <-db.writing }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Querier is what *sql.DB, *sql.Tx and *sql.Conn have in common.
type Querier interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// Scanner is what *sql.Row and *sql.Rows have in common.
type Scanner interface{ Scan(dest ...any) error }

// Collect reads all rows of a query with the given scan function.
func Collect[T any](rows *sql.Rows, err error, scan func(Scanner) (T, error)) ([]T, error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var list []T
	for rows.Next() {
		v, err := scan(rows)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, rows.Err()
}

// Micros and moment turn times into what the tables hold and back.
func Micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

func Moment(us int64) time.Time {
	if us == 0 {
		return time.Time{}
	}
	return time.UnixMicro(us).UTC()
}

// Placeholders writes n placeholders, from $first on.
func Placeholders(first, n int) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "$%d", first+i)
	}
	return b.String()
}

func NotFound(what string) error {
	return beeos.Errorf(beeos.NotFound, "there is no such %s; check the id", what)
}
