package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/beeos/beeos/internal/store/database"
)

// Inspect reports of which version the tables in the database that dsn names are.
// Unlike Open it changes nothing.
func Inspect(ctx context.Context, dsn string) (t Tables, err error) {
	if t.Known, err = newestMigration(); err != nil {
		return t, err
	}
	if rest, ok := strings.CutPrefix(dsn, "sqlite:"); ok {
		path, _, err := database.ParseSQLite(rest)
		if err != nil {
			return t, err
		}
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return t, nil // connecting would create it
		}
	}
	db, err := database.Open(ctx, dsn)
	if err != nil {
		return t, err
	}
	defer db.Close()
	return readTables(ctx, db)
}

// CompareClocks tells how far this machine's clock is ahead of that of the server
// that dsn names.
func CompareClocks(ctx context.Context, dsn string) (time.Duration, error) {
	db, err := database.Open(ctx, dsn)
	if err != nil {
		return 0, err
	}
	defer db.Close()
	return db.ReadClock(ctx)
}

// OpenUnchanged opens a database that is there already, as it is: unlike Open it
// makes nothing and upgrades nothing. version is that of its tables.
func OpenUnchanged(ctx context.Context, dsn string) (db *Store, version int64, err error) {
	tables, err := Inspect(ctx, dsn)
	switch {
	case err != nil:
		return nil, 0, err
	case tables.Version == 0:
		return nil, 0, errors.New("there is no ledger yet; name the data folder with --data, or the database with DATABASE_URL")
	}
	if err := tables.Check(); err != nil {
		return nil, 0, err
	}
	opened, err := database.Open(ctx, dsn)
	if err != nil {
		return nil, 0, err
	}
	return tablesOf(opened), tables.Version, nil
}

// IsCurrent reports whether tables of that version, which OpenUnchanged has opened,
// have all that this program works with.
func IsCurrent(version int64) bool {
	known, err := newestMigration()
	return err == nil && version >= known
}

const (
	countTablesSQLite   = "SELECT count(*) FROM sqlite_master WHERE type = 'table'"
	countTablesPostgres = "SELECT count(*) FROM pg_tables WHERE schemaname = current_schema()"
)

// IsEmpty reports whether the database that dsn names has no tables at all,
// neither ours nor anybody else's.
func IsEmpty(ctx context.Context, dsn string) (bool, error) {
	db, err := database.Open(ctx, dsn)
	if err != nil {
		return false, err
	}
	defer db.Close()
	query := countTablesSQLite
	if db.Postgres {
		query = countTablesPostgres
	}
	tables, err := database.GetValue[int64](ctx, db, "count the tables", query)
	return tables == 0, err
}

// newestMigration is the number that the last migration's file name begins with.
func newestMigration() (int64, error) {
	files, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil || len(files) == 0 {
		return 0, fmt.Errorf("read the migrations: %w", err)
	}
	name := strings.TrimPrefix(files[len(files)-1], "migrations/")
	number, _, _ := strings.Cut(name, "_")
	return strconv.ParseInt(number, 10, 64)
}
