// Package database is the one handle to the database, and what all tables
// share: transactions that run again when the database asks for it, how rows
// are read and written (rows.go), small writes that share a commit (batch.go),
// the words of a query (query.go), how SQLite (sqlite.go) and PostgreSQL
// (postgres.go, hosts.go, stale_unix.go) are opened, how statements go to
// PostgreSQL together (pipeline.go), how one that has gone silent is left (pulse.go), how processes see that another one has died
// (session.go), what time it is for all who share it
// (clock.go), how a SQLite file in use is copied (sqlite_copy.go), and what the
// errors of both mean (errors.go). There is one SQL dialect; a statement that
// truly differs has two named constants side by side.
package database

import (
	"context"
	"database/sql"
	"errors"
	"math/rand/v2"
	"strings"
	"time"
)

// DB is the one handle to the database, for the tables and for the ledger.
type DB struct {
	*sql.DB
	Postgres bool

	clock clock
	pulse *pulse // nil on SQLite

	// writing makes SQLite's writers in this process queue up in order
	// instead of polling the file lock; nil on PostgreSQL.
	writing chan struct{}
}

// UnknownFingerprint stands with an idempotency key whose payload can no longer be
// compared: any payload fits.
var UnknownFingerprint = []byte{0}

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
func (db *DB) Tx(ctx context.Context, what string, fn func(*sql.Tx) error) error {
	for try := 1; ; try++ {
		sent, err := db.tryTx(ctx, fn)
		if err == nil || try == txTries || !(isTransient(err) || !sent && isDisconnect(err)) {
			return Explain(what, err)
		}
		// Wide apart: those who ran into each other must not do so again.
		pause := rand.N(min(time.Second, 4*time.Millisecond<<try))
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return Explain(what, err)
		}
	}
}

// Tx is DB.Tx for a transaction that comes to something; after an error that is
// zero.
func Tx[T any](ctx context.Context, db *DB, what string, fn func(*sql.Tx) (T, error)) (result T, err error) {
	err = db.Tx(ctx, what, func(tx *sql.Tx) (err error) {
		result, err = fn(tx)
		return err
	})
	if err != nil {
		return *new(T), err
	}
	return result, nil
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
		if errors.Is(err, sql.ErrTxDone) && ctx.Err() != nil { // it was rolled back because whoever asked is gone
			err = ctx.Err()
		}
		return false, err
	}
	return true, tx.Commit()
}

// ExecContext runs one writing statement when it is this process's turn.
func (db *DB) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	unlock, err := db.LockWriter(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	return db.DB.ExecContext(ctx, query, args...)
}

// Within does one round of what is done again and again behind everybody's back,
// and gives it up when it takes too long: the next round may find a database that
// answers.
func Within(ctx context.Context, round func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, roundWithin)
	defer cancel()
	return round(ctx)
}

const roundWithin = 20 * time.Second

// Every does one round each period until ctx ends, and tells failed of those that did
// not work out.
func Every(ctx context.Context, period time.Duration, round func(context.Context) error, failed func(error)) error {
	tick := time.NewTicker(period)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
		if err := Within(ctx, round); err != nil && ctx.Err() == nil {
			failed(err)
		}
	}
}

// Retryable reports whether the same transaction may work when tried again.
func (db *DB) Retryable(err error) bool { return isTransient(err) }

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

// Snapshot begins a transaction that sees one moment of the database and writes
// nothing: on SQLite as it is at the first read, whatever others commit meanwhile.
func (db *DB) Snapshot(ctx context.Context) (*sql.Tx, error) {
	return db.DB.BeginTx(ctx, db.snapshotOptions())
}

func (db *DB) snapshotOptions() *sql.TxOptions {
	opts := &sql.TxOptions{ReadOnly: true}
	if db.Postgres {
		opts.Isolation = sql.LevelRepeatableRead
	}
	return opts
}

// Querier is what *DB, *sql.Tx and *sql.Conn have in common.
type Querier interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}
