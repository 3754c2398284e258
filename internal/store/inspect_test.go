package store_test

import (
	"path/filepath"
	"testing"

	"github.com/beeos/beeos/internal/store"
	"github.com/beeos/beeos/test/pgtest"
)

func TestInspect(t *testing.T) {
	for name, dsn := range map[string]string{
		"sqlite":   "sqlite:" + filepath.Join(t.TempDir(), "beeos.db"),
		"postgres": pgtest.URL(t),
	} {
		have, err := store.Inspect(t.Context(), dsn)
		if err != nil || have.Version != 0 || have.Known < 2 {
			t.Errorf("%s, empty: %+v, %v", name, have, err)
		}
		db, err := store.Open(t.Context(), dsn)
		if err != nil {
			t.Fatal(err)
		}
		db.Close()
		if have, err = store.Inspect(t.Context(), dsn); err != nil || have.Version != have.Known {
			t.Errorf("%s, opened: %+v, %v", name, have, err)
		}
	}
}
