package store_test

import (
	"testing"

	"github.com/beeos/beeos/internal/store"
	"github.com/beeos/beeos/internal/store/storetest"
)

func TestSize(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.Store) {
		z, err := db.Size(t.Context())
		want := map[bool]string{true: "PostgreSQL", false: "SQLite"}[db.Postgres]
		if err != nil || z.Kind != want || z.Version == "" || z.Bytes < 100<<10 {
			t.Errorf("%+v, %v", z, err)
		}
	})
}
