package database_test

import (
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/beeos/beeos/internal/store"
	"github.com/beeos/beeos/internal/store/database"
	"github.com/beeos/beeos/internal/store/storetest"
	"github.com/beeos/beeos/test/pgtest"
)

// TestSessionsTellWhoDied: the session of a process that is gone ends, that of one
// whose network swallows everything stays, and who has just come knows nothing.
func TestSessionsTellWhoDied(t *testing.T) {
	t.Parallel() // it waits more than it works
	address := pgtest.URL(t)
	open := func(address, name string) (db *store.Store, stop func()) {
		db = storetest.Open(t, address)
		stop = db.Watch(name, slog.New(slog.DiscardHandler))
		return db, stop
	}
	line := pgtest.NewLine(t, address)
	_, dies := open(address, "dies")
	_, mute := open(line.Beside(t, address), "mute")
	defer mute()
	witness, leave := open(address, "witness")
	defer leave()
	until := func(name string, want bool, fine error) {
		t.Helper()
		for end := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
			has, err := witness.HasSession(t.Context(), name)
			if has == want && errors.Is(err, fine) {
				return
			}
			if time.Now().After(end) {
				t.Fatalf("%s has a session: %t, %v", name, has, err)
			}
		}
	}
	for _, name := range []string{"dies", "mute", "witness"} {
		until(name, true, nil)
	}
	until("nobody", false, database.ErrUnsure)
	witness.SetSignedFor(50 * time.Millisecond)
	until("nobody", false, nil)
	line.Mute(t)
	dies()
	until("dies", false, nil)
	for end := time.Now().Add(6 * time.Second); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if has, err := witness.HasSession(t.Context(), "mute"); err != nil || !has {
			t.Fatalf("the silent one has a session: %t, %v", has, err)
		}
	}
	lite := storetest.Open(t, storetest.SQLiteURL(t))
	if has, err := lite.HasSession(t.Context(), "witness"); has || !errors.Is(err, database.ErrUnsure) {
		t.Errorf("SQLite: %t, %v", has, err)
	}
}
