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
		stored, known, err := store.Inspect(t.Context(), dsn)
		if err != nil || stored != 0 || known < 2 {
			t.Errorf("%s, empty: version %d of %d, %v", name, stored, known, err)
		}
		db, err := store.Open(t.Context(), dsn)
		if err != nil {
			t.Fatal(err)
		}
		db.Close()
		if stored, known, err = store.Inspect(t.Context(), dsn); err != nil || stored != known {
			t.Errorf("%s, opened: version %d of %d, %v", name, stored, known, err)
		}
	}
}
