package store

import (
	"context"
	"crypto/ed25519"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store/agents"
	"github.com/beeos/beeos/internal/store/database"
	"github.com/beeos/beeos/internal/store/grants"
	"github.com/beeos/beeos/test/pgtest"
)

// each runs a test on both engines, each with a fresh database.
func each(t *testing.T, test func(t *testing.T, db *Store)) {
	t.Run("sqlite", func(t *testing.T) { test(t, open(t, sqliteURL(t))) })
	t.Run("postgres", func(t *testing.T) { test(t, open(t, pgtest.URL(t))) })
}

func sqliteURL(t *testing.T) string { return "sqlite:" + filepath.Join(t.TempDir(), "beeos.db") }

func open(t *testing.T, dsn string) *Store {
	t.Helper()
	db, err := Open(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// owner makes a user with one instance.
func owner(t *testing.T, db *Store, email string) (beeos.User, beeos.Instance) {
	t.Helper()
	u := beeos.User{ID: beeos.NewID(), Email: email, Name: "Test", CreatedAt: database.Now()}
	if err := db.People.CreateUser(t.Context(), u); err != nil {
		t.Fatal(err)
	}
	return u, instance(t, db, u)
}

func instance(t *testing.T, db *Store, u beeos.User) beeos.Instance {
	t.Helper()
	public, _, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	i := beeos.Instance{ID: beeos.NewID(), OwnerID: u.ID, Name: "laptop", PublicKey: public, CreatedAt: database.Now()}
	if err := db.Instances.Create(t.Context(), i); err != nil {
		t.Fatal(err)
	}
	return i
}

// together runs n functions at once and returns how many had no error, and
// the codes of those that had.
func together(t *testing.T, n int, fn func(i int) error) (ok int, codes map[beeos.Code]int) {
	t.Helper()
	errs := make([]error, n)
	start := make(chan struct{})
	var g errgroup.Group
	for i := range n {
		g.Go(func() error {
			<-start
			errs[i] = fn(i)
			return nil
		})
	}
	close(start)
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	codes = map[beeos.Code]int{}
	for _, err := range errs {
		if err == nil {
			ok++
			continue
		}
		codes[beeos.CodeOf(err)]++
		if beeos.CodeOf(err) == beeos.InternalError {
			t.Error(err)
		}
	}
	return ok, codes
}

func wantCode(t *testing.T, err error, code beeos.Code, words ...string) {
	t.Helper()
	if err == nil || beeos.CodeOf(err) != code {
		t.Fatalf("error %v, want %s", err, code)
	}
	for _, w := range words {
		if !strings.Contains(beeos.Public(err).Message, w) {
			t.Errorf("message %q does not say %q", beeos.Public(err).Message, w)
		}
	}
}

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
			_, err := Open(t.Context(), tt.dsn)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("got %v, want %q", err, tt.want)
			}
			if strings.Contains(err.Error(), secret) || strings.Contains(err.Error(), "\n") {
				t.Errorf("the error shows the password or has several lines: %v", err)
			}
		})
	}
	t.Run("no such database", func(t *testing.T) {
		_, err := Open(t.Context(), strings.Replace(pgtest.URL(t), "/beeos_test", "/nothing", 1))
		if err == nil || !strings.Contains(err.Error(), "createdb nothing") {
			t.Errorf("got %v", err)
		}
	})
}

func TestOpenRefusesNewerData(t *testing.T) {
	for name, dsn := range map[string]string{"sqlite": sqliteURL(t), "postgres": pgtest.URL(t)} {
		t.Run(name, func(t *testing.T) {
			db := open(t, dsn)
			if _, err := db.Exec("INSERT INTO goose_db_version (version_id, is_applied) VALUES (9999, TRUE)"); err != nil {
				t.Fatal(err)
			}
			_, err := Open(t.Context(), dsn)
			if err == nil || !strings.Contains(err.Error(), "newer version of BeeOS") {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestInspectChangesNothing(t *testing.T) {
	for name, dsn := range map[string]string{"sqlite": sqliteURL(t), "postgres": pgtest.URL(t)} {
		t.Run(name, func(t *testing.T) {
			stored, known, err := Inspect(t.Context(), dsn)
			if err != nil || stored != 0 || known < 2 {
				t.Fatalf("an empty database: %d, %d, %v", stored, known, err)
			}
			if path, ok := strings.CutPrefix(dsn, "sqlite:"); ok {
				if _, err := os.Stat(path); !os.IsNotExist(err) {
					t.Errorf("the file was created: %v", err)
				}
			}
			open(t, dsn)
			if stored, known, err := Inspect(t.Context(), dsn); err != nil || stored != known {
				t.Errorf("an open one: %d, %d, %v", stored, known, err)
			}
		})
	}
}

func TestReplicasStartTogether(t *testing.T) {
	for name, dsn := range map[string]string{"sqlite": sqliteURL(t), "postgres": pgtest.URL(t)} {
		t.Run(name, func(t *testing.T) {
			ok, _ := together(t, 6, func(int) error {
				db, err := Open(context.Background(), dsn)
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

func TestDurability(t *testing.T) {
	for _, tt := range []struct{ suffix, sqlite, postgres string }{
		{"", "2", "on"},
		{"durability=fsync", "2", "on"},
		{"durability=os", "1", "off"},
	} {
		var got string
		db := open(t, sqliteURL(t)+"?"+tt.suffix)
		if err := db.QueryRow("PRAGMA synchronous").Scan(&got); err != nil || got != tt.sqlite {
			t.Errorf("SQLite %q: synchronous = %s, %v", tt.suffix, got, err)
		}
		if err := db.QueryRow("PRAGMA journal_mode").Scan(&got); err != nil || got != "wal" {
			t.Errorf("journal_mode = %s, %v", got, err)
		}
		db = open(t, pgtest.URL(t)+"&"+tt.suffix)
		if err := db.QueryRow("SHOW synchronous_commit").Scan(&got); err != nil || got != tt.postgres {
			t.Errorf("PostgreSQL %q: synchronous_commit = %s, %v", tt.suffix, got, err)
		}
	}
}

func TestTx(t *testing.T) {
	each(t, func(t *testing.T, db *Store) {
		boom := errors.New("boom")
		insert := func(tx *sql.Tx, name string) error {
			_, err := tx.Exec("INSERT INTO secrets (name, value) VALUES ($1, $2)", name, []byte{1})
			return err
		}
		err := db.Tx(t.Context(), func(tx *sql.Tx) error { return errors.Join(insert(tx, "a"), boom) })
		if !errors.Is(err, boom) {
			t.Errorf("got %v", err)
		}
		if err := db.Tx(t.Context(), func(tx *sql.Tx) error { return insert(tx, "b") }); err != nil {
			t.Fatal(err)
		}
		names, err := database.ReadTexts(t.Context(), db, "SELECT name FROM secrets")
		if err != nil || len(names) != 1 || names[0] != "b" {
			t.Errorf("kept %v, %v", names, err)
		}
	})
}

// TestReadersDoNotHearOfDeadConnections: those of the pool die all at once, as
// when PostgreSQL restarts, and whoever comes then can read.
func TestReadersDoNotHearOfDeadConnections(t *testing.T) {
	line := pgtest.NewLine(t, pgtest.Cluster(t).URL(t))
	db := open(t, line.URL)
	for range 10 {
		if n, codes := together(t, database.PostgresConns, func(int) error { _, err := db.People.ListUsers(t.Context()); return err }); n != database.PostgresConns {
			t.Errorf("%d of %d could read: %v", n, database.PostgresConns, codes)
		}
		line.Cut()
	}
}

// TestTxTriesAgainWhenItsConnectionBreaks: before COMMIT nothing has happened
// yet; after it, only the caller can know whether to do it again.
func TestTxTriesAgainWhenItsConnectionBreaks(t *testing.T) {
	line := pgtest.NewLine(t, pgtest.Cluster(t).URL(t))
	db := open(t, line.URL)
	for command, runs := range map[string]int{"BEGIN": 1, "INSERT 0 1": 2, "COMMIT": 1} {
		line.CutAt(command, 0)
		ran := 0
		err := db.Tx(t.Context(), func(tx *sql.Tx) error {
			ran++
			_, err := tx.ExecContext(t.Context(), `INSERT INTO audit (id, owner_id, at, actor, action, subject, detail) VALUES ($1, '', 0, '', $2, '', '')`, beeos.NewID(), command)
			return err
		})
		if ran != runs || (err == nil) != (command != "COMMIT") {
			t.Errorf("cut at %s, it ran %d times and ended with %v", command, ran, err)
		}
		var rows int
		if err := db.Tx(t.Context(), func(tx *sql.Tx) error {
			return tx.QueryRowContext(t.Context(), `SELECT count(*) FROM audit WHERE action = $1`, command).Scan(&rows)
		}); err != nil || rows != 1 {
			t.Errorf("cut at %s, %d rows are stored, %v", command, rows, err)
		}
	}
}

// Two transactions that lock two rows in opposite order: one of them must be
// told to try again, and both must succeed in the end.
func TestTxTriesAgainAfterDeadlock(t *testing.T) {
	each(t, func(t *testing.T, db *Store) {
		for _, name := range []string{"a", "b"} {
			if _, err := db.Cluster.Secret(t.Context(), name, func() []byte { return []byte{0} }); err != nil {
				t.Fatal(err)
			}
		}
		ok, _ := together(t, 8, func(i int) error {
			order := []string{"a", "b"}
			if i%2 == 1 {
				order = []string{"b", "a"}
			}
			return db.Tx(context.Background(), func(tx *sql.Tx) error {
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

// A listing or lookup that scans a table costs more the more agents there
// are. SQLite says how it would run a query.
func TestLookupsUseIndexes(t *testing.T) {
	db := open(t, sqliteURL(t))
	fill(t, db)
	parameter, yes := regexp.MustCompile(`\$\d+`), true
	owned, _ := agents.Filter{OwnerID: "u", InstanceID: "i", Active: &yes}.Conditions()
	public, _ := agents.Filter{Visibility: []beeos.Visibility{beeos.VisiblePublic}}.Conditions()
	byIDs, _ := agents.Filter{IDs: []string{"a"}}.Conditions()
	for _, query := range []string{
		"SELECT * FROM agents WHERE NOT deleted AND id = $1",
		"SELECT * FROM agents WHERE NOT deleted AND owner_id = $1 AND name IN ($2, $3)",
		"SELECT * FROM agents" + owned.SQL() + " ORDER BY created_at, id LIMIT 10",
		"SELECT * FROM agents" + public.SQL() + " ORDER BY created_at, id LIMIT 10",
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
		grants.FamilyQuery,
	} {
		rows, err := db.Query("EXPLAIN QUERY PLAN " + parameter.ReplaceAllString(query, "'x'"))
		plan, err := database.Collect(rows, err, func(row database.Scanner) (step string, err error) {
			var id, parent, unused int
			err = row.Scan(&id, &parent, &unused, &step)
			return step, err
		})
		if err != nil {
			t.Fatalf("%s: %v", query, err)
		}
		for _, step := range plan {
			if strings.HasPrefix(step, "SCAN") {
				t.Errorf("%s\n%s", query, strings.Join(plan, "\n"))
			}
		}
	}
}
