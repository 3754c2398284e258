package store

import (
	"bytes"
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"time"

	"github.com/pressly/goose/v3"

	"github.com/beeos/beeos/internal/store/database"
)

//go:embed migrations/*.sql
var migrations embed.FS

// migratePause is how long a replica leaves the tables to the one that was
// faster.
const migratePause = 50 * time.Millisecond

// migrate brings the tables up to this program's version. Replicas that start
// at the same moment take turns.
func migrate(ctx context.Context, db *database.DB) error {
	tries := 20 // a SQLite migration that lost a race finds itself done the next time
	if db.Postgres {
		tries = 1
	}
	for ; ; tries-- {
		provider, err := newProvider(db)
		if err != nil {
			return fmt.Errorf("read the migrations: %w", err)
		}
		if err = upgrade(ctx, db, provider); err == nil || tries == 1 || ctx.Err() != nil {
			return err
		}
		if _, newer := err.(tooNew); newer {
			return err
		}
		select {
		case <-time.After(migratePause):
		case <-ctx.Done():
			return err
		}
	}
}

// newProvider returns what runs the migrations on a database.
func newProvider(db *database.DB) (*goose.Provider, error) {
	files, err := migrationsFor(db.Postgres)
	if err != nil {
		return nil, err
	}
	dialect := goose.DialectSQLite3
	opts := []goose.ProviderOption{goose.WithDisableGlobalRegistry(true), goose.WithLogger(goose.NopLogger())}
	if db.Postgres {
		dialect = goose.DialectPostgres
		opts = append(opts, goose.WithSessionLocker(migrationLock{}))
	}
	return goose.NewProvider(dialect, db.DB, files, opts...)
}

// migrationsFor is the migrations in an engine's words.
func migrationsFor(postgres bool) (fs.FS, error) {
	files, err := fs.Sub(migrations, "migrations")
	if err != nil || postgres {
		return files, err
	}
	return sqliteWords{files}, nil
}

// sqliteWords calls a number that is the key of its table as SQLite does: by any
// other name it would be looked up in a second tree.
type sqliteWords struct{ fs.FS }

func (w sqliteWords) Open(name string) (fs.File, error) {
	file, err := w.FS.Open(name)
	if err != nil || !strings.HasSuffix(name, ".sql") {
		return file, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(file)
	if err != nil {
		return nil, err
	}
	return wordedFile{bytes.NewReader(bytes.ReplaceAll(text, []byte("BIGINT PRIMARY KEY"), []byte("INTEGER PRIMARY KEY"))), info}, nil
}

type wordedFile struct {
	*bytes.Reader
	info fs.FileInfo
}

func (f wordedFile) Stat() (fs.FileInfo, error) { return f.info, nil }
func (f wordedFile) Close() error               { return nil }

// upgrade brings the tables up, unless they are newer than this program. It looks
// again at the end: a newer program may have upgraded them meanwhile.
func upgrade(ctx context.Context, db *database.DB, p *goose.Provider) error {
	have, err := readTables(ctx, db)
	if err != nil {
		return err
	}
	if err := have.Check(); err != nil || have.Version > have.Known {
		return err
	}
	if have.Version < have.Known || have.Program == "" || have.Oldest < oldestServed {
		if err := noteServed(ctx, db, have.Known); err != nil {
			return err
		}
	}
	if err := forgetFingerprints(ctx, db, have); err != nil {
		return err
	}
	if _, err := p.Up(ctx); err != nil {
		return fmt.Errorf("upgrade the tables; the data is as it was before, so the previous version still works: %w", err)
	}
	if have, err = readTables(ctx, db); err != nil {
		return err
	}
	return have.Check()
}

// migrationLock is goose's session lock. Goose's own one polls every few seconds; this
// one waits inside PostgreSQL, and ends with the connection whatever happens.
type migrationLock struct{}

const migrationLockID = 0x6265656f73 // "beeos"

func (migrationLock) SessionLock(ctx context.Context, conn *sql.Conn) error {
	_, err := conn.ExecContext(ctx, "SELECT pg_advisory_lock($1)", int64(migrationLockID))
	return err
}

func (migrationLock) SessionUnlock(ctx context.Context, conn *sql.Conn) error {
	_, err := conn.ExecContext(ctx, "SELECT pg_advisory_unlock($1)", int64(migrationLockID))
	return err
}
