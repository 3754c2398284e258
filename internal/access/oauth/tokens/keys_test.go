package tokens

import (
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store"
	"github.com/beeos/beeos/test/pgtest"
)

// TestKeysRotateWithOverlap: both replicas sign and verify through a rotation
// that one of them has not heard of.
func TestKeysRotateWithOverlap(t *testing.T) {
	t.Run("sqlite", func(t *testing.T) { rotateWithOverlap(t, "sqlite:"+filepath.Join(t.TempDir(), "test.db")) })
	t.Run("postgres", func(t *testing.T) { rotateWithOverlap(t, pgtest.URL(t)) })
}

func rotateWithOverlap(t *testing.T, dsn string) {
	ctx := t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	db, err := store.Open(ctx, dsn)
	must(err)
	t.Cleanup(func() { db.Close() })
	at := time.Now().UTC().Truncate(time.Second)
	opt := Options{
		Grants: db.Grants, Trail: db.Audit, Cluster: db.Cluster, Issuer: "https://mcp.example.com", Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return at },
		Tell: func(string) {}, // the news gets lost
	}
	one, err := New(ctx, opt)
	must(err)
	other, err := New(ctx, opt)
	must(err)
	good := func(token string) bool {
		t.Helper()
		_, err := one.CheckUser(ctx, token)
		_, err2 := other.CheckUser(ctx, token)
		if (err == nil) != (err2 == nil) {
			t.Errorf("replicas differ: %v, %v", err, err2)
		}
		return err == nil
	}
	person := beeos.User{ID: beeos.NewID(), Email: "owner@example.com", CreatedAt: at}
	must(db.People.CreateUser(ctx, person))
	old, err := one.IssueUserTokens(ctx, person)
	must(err)
	before := other.keys.set.Load().newest
	_, err = Rotate(ctx, db.Grants, at)
	must(err)
	must(one.keys.reload(ctx))
	fresh, err := one.RefreshUserTokens(ctx, old.Refresh)
	must(err)
	if other.keys.set.Load().newest != before {
		t.Fatal("the other replica knows already")
	}
	if !good(fresh.Access) || !good(old.Access) {
		t.Error("a token is not good during the rotation")
	}
	if other.keys.set.Load().newest == before {
		t.Error("the other replica has not learned the new key")
	}
	at = at.Add(accessFor - time.Second)
	if !good(old.Access) {
		t.Error("the old key's token is gone too early")
	}
	at = at.Add(keyOverlap)
	if _, err := one.keys.find(ctx, before); err == nil {
		t.Error("the old key still verifies")
	}
}
