package store_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/beeos/beeos/internal/store"
	"github.com/beeos/beeos/internal/store/agents"
	"github.com/beeos/beeos/internal/store/storetest"
	"github.com/beeos/beeos/test/pgtest"
)

func TestOpenErrorsNameTheNextStep(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte(strings.Repeat("not a database ", 500)), 0o600); err != nil {
		t.Fatal(err)
	}
	const secret = "hunter2"
	for _, tt := range []struct{ name, dsn, want string }{
		{"no scheme", "mysql://u:" + secret + "@h/d", "leave it empty for SQLite"},
		{"no file", "sqlite:", "names no file"},
		{"memory", "sqlite::memory:", "names no file"},
		{"durability", "sqlite:" + dir + "/x.db?durability=maybe", "use fsync"},
		{"parameter", "sqlite:" + dir + "/x.db?cache=shared", "the only one is durability"},
		{"folder is a file", "sqlite:" + file + "/x.db", "choose another one or change its rights"},
		{"file is a folder", "sqlite:" + dir, "cannot be opened for writing"},
		{"not a database", "sqlite:" + file, "is not a BeeOS database"},
		{"unreachable", "postgres://u:" + secret + "@127.0.0.1:1/d", "PostgreSQL at 127.0.0.1:1 cannot be reached; start it"},
		{"two hosts", "postgres://u:" + secret + "@127.0.0.1:1,127.0.0.1:2/d", "cannot be reached"},
		{"bad escape", "postgres://u:" + secret + "%zz@h/d", "percent-encode"},
		{"slash in password", "postgres://u:" + secret + "/x@h/d", "percent-encode"},
		{"slash after digits", "postgres://u:123/" + secret + "@h/d", "percent-encode"},
		{"bad port", "postgres://u:" + secret + "@h:port/d", "write it as postgres://"},
		{"bad sslmode", "postgres://u:" + secret + "@h/d?sslmode=perhaps", "write it as postgres://"},
		{"pool", "postgres://u:" + secret + "@h/d?pool_max_conns=0", "use a number"},
		{"pg durability", "postgres://u:" + secret + "@h/d?durability=no", "use fsync"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := store.Open(t.Context(), tt.dsn)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("got %v, want %q", err, tt.want)
			}
			if strings.Contains(err.Error(), secret) || strings.Contains(err.Error(), "\n") {
				t.Errorf("the error shows the password or has several lines: %v", err)
			}
		})
	}
	t.Run("no such database", func(t *testing.T) {
		_, err := store.Open(t.Context(), strings.Replace(pgtest.URL(t), "/beeos_test", "/nothing", 1))
		if err == nil || !strings.Contains(err.Error(), "createdb nothing") {
			t.Errorf("got %v", err)
		}
	})
}

// TestOpenNewerData: tables that a later program has made are refused with what to
// do about it, unless they say that they serve this program too. Nothing is changed
// in either case.
func TestOpenNewerData(t *testing.T) {
	for name, dsn := range map[string]string{"sqlite": storetest.SQLiteURL(t), "postgres": pgtest.URL(t)} {
		t.Run(name, func(t *testing.T) {
			db := storetest.Open(t, dsn)
			known, err := store.Inspect(t.Context(), dsn)
			if err != nil {
				t.Fatal(err)
			}
			exec := func(query string, args ...any) {
				t.Helper()
				if _, err := db.Exec(query, args...); err != nil {
					t.Fatal(err)
				}
			}
			open := func() error {
				t.Helper()
				again, err := store.Open(t.Context(), dsn)
				if err == nil {
					again.Close()
				}
				unchanged, _, err2 := store.OpenUnchanged(t.Context(), dsn)
				if err2 == nil {
					unchanged.Close()
				}
				if fmt.Sprint(err2) != strings.TrimPrefix(fmt.Sprint(err), "open store: ") {
					t.Errorf("opened: %v; opened to look at: %v", err, err2)
				}
				return err
			}
			refused := func(want string) {
				t.Helper()
				if err := open(); err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("got %v, want %q", err, want)
				}
			}
			exec("INSERT INTO goose_db_version (version_id, is_applied) VALUES (9999, TRUE)")
			refused("start that version, or restore a backup") // it does not say whom it serves
			exec("INSERT INTO goose_serves (version, oldest, program) VALUES (9999, $1, '7.8.9')", known.Known+1)
			refused("start BeeOS 7.8.9 or later, or restore a backup")
			exec("UPDATE goose_serves SET oldest = $1 WHERE version = 9999", known.Known)
			if err := open(); err != nil {
				t.Errorf("tables that serve this program: %v", err)
			}
			if have, err := store.Inspect(t.Context(), dsn); err != nil || have.Version != 9999 || have.Program != "7.8.9" {
				t.Errorf("%+v, %v", have, err)
			}
		})
	}
}

func TestInspectChangesNothing(t *testing.T) {
	for name, dsn := range map[string]string{"sqlite": storetest.SQLiteURL(t), "postgres": pgtest.URL(t)} {
		t.Run(name, func(t *testing.T) {
			have, err := store.Inspect(t.Context(), dsn)
			if err != nil || have.Version != 0 || have.Known < 2 {
				t.Fatalf("an empty database: %+v, %v", have, err)
			}
			if path, ok := strings.CutPrefix(dsn, "sqlite:"); ok {
				if _, err := os.Stat(path); !os.IsNotExist(err) {
					t.Errorf("the file was created: %v", err)
				}
			}
			storetest.Open(t, dsn)
			if have, err := store.Inspect(t.Context(), dsn); err != nil || have.Version != have.Known {
				t.Errorf("an open one: %+v, %v", have, err)
			}
		})
	}
}

func TestReplicasStartTogether(t *testing.T) {
	for name, dsn := range map[string]string{"sqlite": storetest.SQLiteURL(t), "postgres": pgtest.URL(t)} {
		t.Run(name, func(t *testing.T) {
			ok, _ := storetest.Together(t, 6, func(int) error {
				db, err := store.Open(context.Background(), dsn)
				if err != nil {
					return err
				}
				defer db.Close()
				_, err = db.People.ListUsers(context.Background())
				return err
			})
			if ok != 6 {
				t.Errorf("%d of 6 started", ok)
			}
		})
	}
}

func TestLookupsUseIndexes(t *testing.T) {
	db := storetest.Open(t, storetest.SQLiteURL(t))
	storetest.Fill(t, db)
	yes := true
	owned, _ := agents.Filter{OwnerID: "u", InstanceID: "i", Active: &yes}.Conditions()
	byIDs, _ := agents.Filter{IDs: []string{"a"}}.Conditions()
	for _, query := range []string{
		"SELECT * FROM agents WHERE NOT deleted AND id = $1",
		"SELECT * FROM agents WHERE NOT deleted AND owner_id = $1 AND name IN ($2, $3)",
		"SELECT * FROM agents" + owned.SQL() + " ORDER BY created_at, id LIMIT 10",
		"SELECT * FROM agents" + byIDs.SQL() + " ORDER BY created_at, id LIMIT 10",
		"SELECT * FROM api_keys WHERE hash = $1",
		"SELECT * FROM api_keys WHERE agent_id = $1 AND agent_id <> ''",
		"SELECT * FROM audit WHERE owner_id = $2 ORDER BY at DESC, id DESC LIMIT 3",
		"SELECT agent_id FROM agent_homes WHERE instance_id = $1",
		"SELECT 1 FROM agent_homes WHERE agent_id = $1",
		"DELETE FROM nonces WHERE expires_at < $1",
		"SELECT * FROM users WHERE email = $1",
		"DELETE FROM oauth_families WHERE grant_id = $1",
		"SELECT * FROM oauth_grants WHERE user_id = $1 ORDER BY created_at DESC, id DESC",
	} {
		storetest.WantIndex(t, db, query)
	}
}
