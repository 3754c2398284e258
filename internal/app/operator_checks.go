package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/beeos/beeos/internal/config"
	"github.com/beeos/beeos/internal/engine/bus"
	"github.com/beeos/beeos/internal/store"
)

// CheckDatabase reports what state the database is in, in words; the error
// says what to do about it. It changes nothing.
func CheckDatabase(ctx context.Context, cfg config.Config) (string, error) {
	dsn, err := DSN(cfg)
	if err != nil {
		return "", err
	}
	where := "PostgreSQL"
	if cfg.DatabaseURL == "" {
		where = filepath.Join(cfg.Data, "beeos.db")
		if _, err := os.Stat(where); errors.Is(err, fs.ErrNotExist) {
			return where + " will be made at the first start", nil
		}
	}
	tables, err := store.Inspect(ctx, dsn)
	if err == nil {
		err = tables.Check()
	}
	switch {
	case err != nil:
		return "", err
	case tables.Version < tables.Known:
		return fmt.Sprintf("%s has tables of version %d and will be upgraded to %d at the next start", where, tables.Version, tables.Known), nil
	case tables.Version > tables.Known:
		return fmt.Sprintf("%s, tables of version %d, which a newer version made and which serve this one too", where, tables.Version), nil
	}
	return fmt.Sprintf("%s, tables of version %d", where, tables.Version), nil
}

// CheckClock tells how far this machine's clock is ahead of the database's; 0 with
// SQLite, which has none.
func CheckClock(ctx context.Context, cfg config.Config) (time.Duration, error) {
	dsn, err := DSN(cfg)
	if err != nil || cfg.DatabaseURL == "" {
		return 0, err
	}
	return store.CompareClocks(ctx, dsn)
}

// CountServers tells how many servers use the database now; 0 with SQLite, which
// has one at most, and before there are tables.
func CountServers(ctx context.Context, cfg config.Config) (int, error) {
	dsn, err := DSN(cfg)
	if err != nil || cfg.DatabaseURL == "" {
		return 0, err
	}
	if tables, err := store.Inspect(ctx, dsn); err != nil || tables.Version == 0 {
		return 0, err
	}
	db, _, err := store.OpenUnchanged(ctx, dsn)
	if err != nil {
		return 0, err
	}
	defer db.Close()
	if _, err := db.ReadClock(ctx); err != nil { // servers are seen by its time
		return 0, err
	}
	nodes, err := db.Cluster.ListNodes(ctx, db.Now().Add(-2*loneBeat))
	return len(nodes), err
}

// CheckNATS reports how the nodes talk; the error says what to do about it.
func CheckNATS(ctx context.Context, cfg config.Config) (string, error) {
	if cfg.NATSURL == "" {
		return "inside the server", nil
	}
	b, err := bus.Open(ctx, bus.Options{URL: cfg.NATSURL})
	if err != nil {
		return "", err
	}
	b.Close()
	return "external", nil
}
