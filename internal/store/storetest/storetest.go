// Package storetest gives tests an open store, on both engines, and things to
// put into it: storetest.go opens and compares, fill.go writes rows as their
// owners would.
package storetest

import (
	"crypto/ed25519"
	"crypto/sha256"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store"
	"github.com/beeos/beeos/internal/store/database"
	"github.com/beeos/beeos/test/pgtest"
)

// Each runs a test on both engines, each with a fresh database.
func Each(t *testing.T, test func(t *testing.T, db *store.Store)) {
	t.Run("sqlite", func(t *testing.T) { test(t, Open(t, SQLiteURL(t))) })
	t.Run("postgres", func(t *testing.T) { test(t, Open(t, pgtest.URL(t))) })
}

func SQLiteURL(t *testing.T) string { return "sqlite:" + filepath.Join(t.TempDir(), "beeos.db") }

func Open(t *testing.T, dsn string) *store.Store {
	t.Helper()
	db, err := store.Open(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// Owner makes a user with one instance.
func Owner(t *testing.T, db *store.Store, email string) (beeos.User, beeos.Instance) {
	t.Helper()
	u := beeos.User{ID: beeos.NewID(), Email: email, Name: "Test", CreatedAt: database.Now()}
	if err := db.People.CreateUser(t.Context(), u); err != nil {
		t.Fatal(err)
	}
	return u, Instance(t, db, u)
}

func Instance(t *testing.T, db *store.Store, u beeos.User) beeos.Instance {
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

// Together runs n functions at once and returns how many had no error, and
// the codes of those that had.
func Together(t *testing.T, n int, fn func(i int) error) (ok int, codes map[beeos.Code]int) {
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

func WantCode(t *testing.T, err error, code beeos.Code, words ...string) {
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

func HashOf(s string) []byte { sum := sha256.Sum256([]byte(s)); return sum[:] }

var parameter = regexp.MustCompile(`\$\d+`)

// WantIndex fails for a query that scans a table: it would cost more the more
// rows there are. SQLite says how it would run one.
func WantIndex(t *testing.T, db *store.Store, query string) {
	t.Helper()
	var id, parent, unused int
	plan, err := database.List(t.Context(), db, "explain", func(step *string) []any { return []any{&id, &parent, &unused, step} },
		"EXPLAIN QUERY PLAN "+parameter.ReplaceAllString(query, "'x'"))
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	for _, step := range plan {
		if strings.HasPrefix(step, "SCAN") {
			t.Errorf("%s\n%s", query, strings.Join(plan, "\n"))
		}
	}
}
