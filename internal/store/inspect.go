package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"

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
