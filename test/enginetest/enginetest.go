// Package enginetest gives tests what calls and acts stand on: a fresh
// database, the bus and the ledger, as a server opens them.
package enginetest

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/beeos/beeos/internal/engine/bus"
	"github.com/beeos/beeos/internal/engine/invoke"
	"github.com/beeos/beeos/internal/engine/ledger"
	"github.com/beeos/beeos/internal/store"
)

// Open opens all three until the test ends.
func Open(t testing.TB) (*store.Store, *bus.Bus, *ledger.Ledger) {
	t.Helper()
	ctx := context.Background() // what a test leaves running ends in its own clean-up, not before
	db, err := store.Open(ctx, "sqlite:"+filepath.Join(t.TempDir(), "beeos.db")+"?durability=os")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	b, l := OpenOn(t, db)
	return db, b, l
}

// OpenOn opens bus and ledger on a database until the test ends.
func OpenOn(t testing.TB, db *store.Store) (*bus.Bus, *ledger.Ledger) {
	t.Helper()
	ctx := context.Background()
	b, err := bus.Open(ctx, bus.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	l, err := ledger.Open(ctx, db.DB, ledger.Options{Committed: invoke.Committed(b)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	return b, l
}
