package database

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"net"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/beeos/beeos"
)

// What the errors of both engines mean.

// isTransient reports whether the same transaction may work when tried again:
// the database chose it as the victim of a conflict.
func isTransient(err error) bool {
	switch postgresCode(err) {
	case "40001", "40P01": // serialization failure, deadlock
		return true
	}
	code := sqliteCode(err) & 0xff
	return code == sqlite3.SQLITE_BUSY || code == sqlite3.SQLITE_LOCKED
}

// isDisconnect reports whether the connection broke: the server has ended, or the
// way to it.
func isDisconnect(err error) bool {
	if code := postgresCode(err); code != "" {
		return code == "57P01" || code == "57P02" // shut down by somebody, or after a crash
	}
	for _, broken := range []error{io.ErrUnexpectedEOF, io.EOF, syscall.ECONNRESET, syscall.EPIPE, syscall.ETIMEDOUT, net.ErrClosed, errSilent} {
		if errors.Is(err, broken) {
			return true
		}
	}
	return pgconn.SafeToRetry(err)
}

// tryAgainAfter is when a database that cannot be reached is worth another try.
const tryAgainAfter = 5 * time.Second

// isUnavailable reports whether the database cannot be asked at present, which
// is no fault of the question: it is down, starting, full, silent, or out of reach.
func isUnavailable(err error) bool {
	if errors.Is(err, context.Canceled) { // whoever asked has left
		return false
	}
	switch postgresCode(err) {
	case "57P03", "53300", "25006": // it is starting or stopping; it has no free connection; it only reads, as a standby does
		return true
	}
	_, connecting := errors.AsType[*pgconn.ConnectError](err)
	return connecting || errors.Is(err, driver.ErrBadConn) || errors.Is(err, context.DeadlineExceeded) || isTransient(err) || isDisconnect(err)
}

// IsDuplicate reports whether a unique index refused a row.
func IsDuplicate(err error) bool {
	code := sqliteCode(err)
	return postgresCode(err) == "23505" || code == sqlite3.SQLITE_CONSTRAINT_UNIQUE || code == sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY
}

// IsAbsent reports whether a lookup found nothing, for the ledger as well.
// PostgreSQL refuses to look for text that it could never hold (zero bytes,
// broken UTF-8); that is the same answer.
func IsAbsent(err error) bool {
	return errors.Is(err, sql.ErrNoRows) || postgresCode(err) == "22021"
}

// NotFound is the error for a lookup that found nothing, for callers to see.
func NotFound(what string) error {
	return beeos.Errorf(beeos.NotFound, "there is no such %s; check the id", what)
}
