package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store/database"
)

// oldestServed is the oldest version of the tables that programs may know which
// still work with the tables as this program makes them. While it stands, a
// migration above it adds and takes nothing away (TestMigrationsServe). Raise it
// in the version after the last program that needs the old form, together with the
// migration that ends that form.
const oldestServed = 33

// Tables is of which version the tables of a database are, and what that means for
// this program.
type Tables struct {
	Version int64  // 0: there are none
	Known   int64  // what this program makes of them
	Oldest  int64  // a program that knows this version works with them, if it is no newer than they are
	Program string // the version of BeeOS that upgraded them last, where that is known
}

// Check is nil if this program can work with the tables, also after it has upgraded
// them; otherwise it says what to do.
func (t Tables) Check() error {
	if t.Version <= t.Known || t.Oldest <= t.Known {
		return nil
	}
	return tooNew{t}
}

// tooNew is the error for data that a later program has upgraded already.
type tooNew struct{ Tables }

func (e tooNew) Error() string {
	start := "that version"
	if e.Program != "" {
		start = "BeeOS " + e.Program + " or later"
	}
	return fmt.Sprintf("the data was written by a newer version of BeeOS (tables of version %d, which serve programs that know %d; this one knows %d); start %s, or restore a backup from before the upgrade",
		e.Version, e.Oldest, e.Known, start)
}

// The table beside goose's own. By its name, copies leave it out as they leave out
// goose's; it is not one of the migrations, because it says something about them.
const (
	makeServes = `CREATE TABLE IF NOT EXISTS goose_serves (
		version BIGINT PRIMARY KEY, -- of the tables
		oldest  BIGINT NOT NULL, -- the version that a program must know to work with them
		program TEXT NOT NULL -- the version of BeeOS that made them so
	)`
	noteServes = `INSERT INTO goose_serves (version, oldest, program) VALUES ($1, $2, $3)
		ON CONFLICT (version) DO UPDATE SET oldest = excluded.oldest, program = excluded.program WHERE excluded.oldest > goose_serves.oldest`
	hasTableSQLite   = "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = $1"
	hasTablePostgres = "SELECT count(*) FROM pg_tables WHERE schemaname = current_schema() AND tablename = $1"
)

// noteServed writes down whom the tables of a version serve. That happens before
// they are made so: an old program that looks at them meanwhile finds it.
func noteServed(ctx context.Context, db *database.DB, version int64) error {
	return db.Tx(ctx, "note whom the tables serve", func(tx *sql.Tx) error {
		if db.Postgres { // where two that make one table at once run into each other
			if _, err := tx.ExecContext(ctx, "SELECT pg_advisory_xact_lock($1)", int64(migrationLockID)); err != nil {
				return err
			}
		}
		if _, err := tx.ExecContext(ctx, makeServes); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, noteServes, version, oldestServed, beeos.Version)
		return err
	})
}

// readTables returns of which version the tables are; it changes nothing.
func readTables(ctx context.Context, db *database.DB) (t Tables, err error) {
	if t.Known, err = newestMigration(); err != nil {
		return t, err
	}
	if has, err := hasTable(ctx, db, "goose_db_version"); err != nil || !has {
		return t, err
	}
	if t.Version, err = database.GetValue[int64](ctx, db, "read the version of the tables", "SELECT coalesce(max(version_id), 0) FROM goose_db_version"); err != nil {
		return t, err
	}
	t.Oldest = t.Version // unless it says otherwise
	if has, err := hasTable(ctx, db, "goose_serves"); err != nil || !has {
		return t, err
	}
	err = db.QueryRowContext(ctx, "SELECT oldest, program FROM goose_serves WHERE version = $1", t.Version).Scan(&t.Oldest, &t.Program)
	if errors.Is(err, sql.ErrNoRows) {
		return t, nil
	}
	if err != nil {
		return t, fmt.Errorf("read whom the tables serve: %w", err)
	}
	return t, nil
}

func hasTable(ctx context.Context, db *database.DB, name string) (bool, error) {
	query := hasTableSQLite
	if db.Postgres {
		query = hasTablePostgres
	}
	tables, err := database.GetValue[int64](ctx, db, "read the list of tables", query, name)
	return tables > 0, err
}

// lastOtherFingerprints is the last version of the tables whose programs compared
// calls under one idempotency key in another way.
const lastOtherFingerprints = 16

// forgetFingerprints lets the keys of calls from that time stand for whatever is
// asked with them, for the day that they are kept: a repeat must get its answer.
func forgetFingerprints(ctx context.Context, db *database.DB, have Tables) error {
	if have.Version == 0 || have.Version > lastOtherFingerprints {
		return nil
	}
	return database.Exec(ctx, db, "forget fingerprints", "UPDATE idempotency SET fingerprint = $1", database.UnknownFingerprint)
}
