//go:build unix

package main

import (
	"context"
	"fmt"

	"github.com/beeos/beeos/internal/store"
	"github.com/beeos/beeos/test/chaos/world"
)

// awaitQuiet returns once nothing is under way any more.
func awaitQuiet(ctx context.Context, db *store.Store) error {
	open := 0
	err := world.Until(ctx, "nothing is under way", func() bool {
		return db.QueryRowContext(ctx, `SELECT count(*) FROM deliveries`).Scan(&open) == nil && open == 0
	})
	if err != nil {
		return fmt.Errorf("%d requests are still under way", open)
	}
	return nil
}
