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

// Inspect reports the version of the tables in the database that dsn names
// and the version that this program knows. Unlike Open it changes nothing;
// a database without tables has version 0.
func Inspect(ctx context.Context, dsn string) (stored, known int64, err error) {
	if known, err = newestMigration(); err != nil {
		return 0, 0, err
	}
	if rest, ok := strings.CutPrefix(dsn, "sqlite:"); ok {
		path, _, err := database.ParseSQLite(rest)
		if err != nil {
			return 0, known, err
		}
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return 0, known, nil // connecting would create it
		}
	}
	db, err := database.Open(ctx, dsn)
	if err != nil {
		return 0, known, err
	}
	defer db.Close()
	table := "SELECT count(*) FROM sqlite_master WHERE name = 'goose_db_version'"
	if db.Postgres {
		table = "SELECT count(*) FROM pg_tables WHERE schemaname = current_schema() AND tablename = 'goose_db_version'"
	}
	var tables int
	if err := db.QueryRowContext(ctx, table).Scan(&tables); err != nil {
		return 0, known, fmt.Errorf("read the list of tables: %w", err)
	}
	if tables == 0 {
		return 0, known, nil
	}
	if err := db.QueryRowContext(ctx, "SELECT coalesce(max(version_id), 0) FROM goose_db_version").Scan(&stored); err != nil {
		return 0, known, fmt.Errorf("read the version of the tables: %w", err)
	}
	return stored, known, nil
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
	stored, known, err := Inspect(ctx, dsn)
	switch {
	case err != nil:
		return nil, 0, err
	case stored == 0:
		return nil, 0, errors.New("there is no ledger yet; name the data folder with --data, or the database with DATABASE_URL")
	case stored > known:
		return nil, 0, tooNew{stored: stored, known: known}
	}
	opened, err := database.Open(ctx, dsn)
	if err != nil {
		return nil, 0, err
	}
	return tablesOf(opened), stored, nil
}

// IsCurrent reports whether tables of that version are those that this program
// works with.
func IsCurrent(version int64) bool {
	known, err := newestMigration()
	return err == nil && version == known
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
