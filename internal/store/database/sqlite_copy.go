package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"

	"modernc.org/sqlite"
)

// copyPages is how many pages are copied between two looks at the clock and the
// context: 4 MB.
const copyPages = 1024

// CopyFile copies a SQLite database, as it is at one moment, into the new file at
// path while others go on writing to it. read, which may be nil, reads at that very
// moment, before the pages are copied. progress hears how many pages are done.
//
// The copy runs inside one read transaction: without it, each commit of somebody
// else would begin it again.
func (db *DB) CopyFile(ctx context.Context, path string, read func(*sql.Tx) error, progress func(done, all int)) error {
	conn, err := db.Conn(ctx)
	if err != nil {
		return Explain("copy the database", err)
	}
	defer conn.Close()
	tx, err := conn.BeginTx(ctx, db.snapshotOptions())
	if err != nil {
		return Explain("copy the database", err)
	}
	defer tx.Rollback() //nolint:errcheck // it only reads
	var version int64   // the first read is the moment
	if err := tx.QueryRowContext(ctx, "PRAGMA schema_version").Scan(&version); err != nil {
		return Explain("copy the database", err)
	}
	if read != nil {
		if err := read(tx); err != nil {
			return err
		}
	}
	return Explain("copy the database", conn.Raw(func(driver any) error { return copyAllPages(ctx, driver, path, progress) }))
}

func copyAllPages(ctx context.Context, driver any, path string, progress func(done, all int)) (err error) {
	source, ok := driver.(interface {
		NewBackup(string) (*sqlite.Backup, error)
	})
	if !ok {
		return errors.New("only SQLite is copied page by page")
	}
	// Who makes the copy sees to its durability once it is where it belongs.
	q := url.Values{"_pragma": {"synchronous(OFF)"}}
	b, err := source.NewBackup("file:" + (&url.URL{Path: path}).EscapedPath() + "?" + q.Encode())
	if err != nil {
		return fmt.Errorf("open the copy: %w", err)
	}
	defer func() { err = errors.Join(err, b.Finish()) }()
	for more := true; more; {
		if err := ctx.Err(); err != nil {
			return err
		}
		if more, err = b.Step(copyPages); err != nil {
			return err
		}
		if progress != nil {
			progress(b.PageCount()-b.Remaining(), b.PageCount())
		}
	}
	return nil
}
