package database_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store"
	"github.com/beeos/beeos/internal/store/database"
	"github.com/beeos/beeos/internal/store/storetest"
	"github.com/beeos/beeos/test/pgtest"
)

func TestTx(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.Store) {
		boom := errors.New("boom")
		insert := func(tx *sql.Tx, name string) error {
			_, err := tx.Exec("INSERT INTO secrets (name, value) VALUES ($1, $2)", name, []byte{1})
			return err
		}
		err := db.Tx(t.Context(), "test", func(tx *sql.Tx) error { return errors.Join(insert(tx, "a"), boom) })
		if !errors.Is(err, boom) {
			t.Errorf("got %v", err)
		}
		if err := db.Tx(t.Context(), "test", func(tx *sql.Tx) error { return insert(tx, "b") }); err != nil {
			t.Fatal(err)
		}
		names, err := database.ListTexts(t.Context(), db, "list secrets", "SELECT name FROM secrets")
		if err != nil || len(names) != 1 || names[0] != "b" {
			t.Errorf("kept %v, %v", names, err)
		}
	})
}

// TestReadersDoNotHearOfDeadConnections: those of the pool die all at once, as
// when PostgreSQL restarts, and whoever comes then can read.
func TestReadersDoNotHearOfDeadConnections(t *testing.T) {
	line := pgtest.NewLine(t, pgtest.Cluster(t).URL(t))
	db := storetest.Open(t, line.URL)
	for range 10 {
		if n, codes := storetest.Together(t, database.PostgresConns, func(int) error { _, err := db.People.ListUsers(t.Context()); return err }); n != database.PostgresConns {
			t.Errorf("%d of %d could read: %v", n, database.PostgresConns, codes)
		}
		line.Cut()
	}
}

// TestTxTriesAgainWhenItsConnectionBreaks: before COMMIT nothing has happened
// yet; after it, only the caller can know whether to do it again.
func TestTxTriesAgainWhenItsConnectionBreaks(t *testing.T) {
	line := pgtest.NewLine(t, pgtest.Cluster(t).URL(t))
	db := storetest.Open(t, line.URL)
	for command, runs := range map[string]int{"BEGIN": 1, "INSERT 0 1": 2, "COMMIT": 1} {
		line.CutAt(command, 0)
		ran := 0
		err := db.Tx(t.Context(), "test", func(tx *sql.Tx) error {
			ran++
			_, err := tx.ExecContext(t.Context(), `INSERT INTO audit (id, owner_id, at, actor, action, subject, detail) VALUES ($1, '', 0, '', $2, '', '')`, beeos.NewID(), command)
			return err
		})
		if ran != runs || (err == nil) != (command != "COMMIT") {
			t.Errorf("cut at %s, it ran %d times and ended with %v", command, ran, err)
		}
		var rows int
		if err := db.Tx(t.Context(), "test", func(tx *sql.Tx) error {
			return tx.QueryRowContext(t.Context(), `SELECT count(*) FROM audit WHERE action = $1`, command).Scan(&rows)
		}); err != nil || rows != 1 {
			t.Errorf("cut at %s, %d rows are stored, %v", command, rows, err)
		}
	}
}

// Two transactions that lock two rows in opposite order: one of them must be
// told to try again, and both must succeed in the end.
func TestTxTriesAgainAfterDeadlock(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.Store) {
		for _, name := range []string{"a", "b"} {
			if _, err := db.Cluster.Secret(t.Context(), name, func() []byte { return []byte{0} }); err != nil {
				t.Fatal(err)
			}
		}
		ok, _ := storetest.Together(t, 8, func(i int) error {
			order := []string{"a", "b"}
			if i%2 == 1 {
				order = []string{"b", "a"}
			}
			return db.Tx(context.Background(), "test", func(tx *sql.Tx) error {
				for _, name := range order {
					if _, err := tx.Exec("UPDATE secrets SET value = $2 WHERE name = $1", name, []byte{byte(i)}); err != nil {
						return err
					}
				}
				return nil
			})
		})
		if ok != 8 {
			t.Errorf("%d of 8 succeeded", ok)
		}
	})
}

func TestDurability(t *testing.T) {
	for _, tt := range []struct{ suffix, sqlite, postgres string }{
		{"", "2", "on"},
		{"durability=fsync", "2", "on"},
		{"durability=os", "1", "off"},
	} {
		var got string
		db := storetest.Open(t, storetest.SQLiteURL(t)+"?"+tt.suffix)
		if err := db.QueryRow("PRAGMA synchronous").Scan(&got); err != nil || got != tt.sqlite {
			t.Errorf("SQLite %q: synchronous = %s, %v", tt.suffix, got, err)
		}
		if err := db.QueryRow("PRAGMA journal_mode").Scan(&got); err != nil || got != "wal" {
			t.Errorf("journal_mode = %s, %v", got, err)
		}
		db = storetest.Open(t, pgtest.URL(t)+"&"+tt.suffix)
		if err := db.QueryRow("SHOW synchronous_commit").Scan(&got); err != nil || got != tt.postgres {
			t.Errorf("PostgreSQL %q: synchronous_commit = %s, %v", tt.suffix, got, err)
		}
	}
}
