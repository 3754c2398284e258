package store

import (
	"context"

	"github.com/beeos/beeos/internal/store/database"
)

// Size is which database it is, and how large.
type Size struct {
	Kind    string
	Version string
	Bytes   int64
}

const (
	versionSQLite   = `SELECT sqlite_version()`
	versionPostgres = `SHOW server_version`
	bytesSQLite     = `SELECT c.page_count * s.page_size FROM pragma_page_count() c, pragma_page_size() s`
	bytesPostgres   = `SELECT pg_database_size(current_database())`
)

// Size asks the database about itself.
func (s *Store) Size(ctx context.Context) (z Size, err error) {
	version, bytes := versionSQLite, bytesSQLite
	if z.Kind = "SQLite"; s.Postgres {
		z.Kind, version, bytes = "PostgreSQL", versionPostgres, bytesPostgres
	}
	if z.Version, err = database.GetValue[string](ctx, s.DB, "read the version of the database", version); err != nil {
		return z, err
	}
	z.Bytes, err = database.GetValue[int64](ctx, s.DB, "read the size of the database", bytes)
	return z, err
}
