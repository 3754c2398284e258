package app

import (
	"fmt"
	"os"

	"github.com/beeos/beeos/internal/config"
)

// claim makes the data folder and keeps other servers out of it until free is
// called. SQLite's ledger has one writer, and dev.json one server to name. With
// PostgreSQL any number of nodes may use the folder.
func claim(cfg config.Config) (free func(), err error) {
	if err := os.MkdirAll(cfg.Data, 0o700); err != nil {
		return nil, fmt.Errorf("cannot create the data folder — make %s writable or set BEEOS_DATA: %w", cfg.Data, err)
	}
	folder, err := os.Open(cfg.Data)
	if err != nil {
		return nil, fmt.Errorf("cannot open the data folder — make %s readable or set BEEOS_DATA: %w", cfg.Data, err)
	}
	if cfg.DatabaseURL == "" && taken(folder) {
		folder.Close()
		return nil, fmt.Errorf("another beeos runs on the data folder %s — stop that one, give this one its own with --data, or let both share a PostgreSQL with DATABASE_URL", cfg.Data)
	}
	return func() { folder.Close() }, nil
}
