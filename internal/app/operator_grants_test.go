package app_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/access/auth"
	"github.com/beeos/beeos/internal/app"
	"github.com/beeos/beeos/internal/store"
	"github.com/beeos/beeos/internal/store/grants"
	"github.com/beeos/beeos/test/apptest"
)

// directory opens the database of a configuration twice: as an operator does,
// and for the test to fill.
func directory(t *testing.T) (*app.Directory, *store.Store) {
	t.Helper()
	cfg := apptest.Config(t)
	dir, err := app.OpenDirectory(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dir.Close() })
	dsn, err := app.DSN(cfg)
	if err != nil {
		t.Fatal(err)
	}
	db, err := store.Open(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return dir, db
}

func TestGrants(t *testing.T) {
	dir, db := directory(t)
	ctx := t.Context()
	ann := beeos.User{ID: beeos.NewID(), Email: "ann@example.com"}
	bob := beeos.User{ID: beeos.NewID(), Email: "bob@example.com"}
	at := time.Now().UTC().Truncate(time.Microsecond)
	for i, u := range []beeos.User{ann, bob} {
		if err := db.People.CreateUser(ctx, u); err != nil {
			t.Fatal(err)
		}
		g := grants.Grant{
			ID: "g" + u.Email[:1], UserID: u.ID, ClientID: "c", ClientName: "App", ClientHost: "app.example",
			Agents: []string{"agent_gone"}, All: i == 1, CreatedAt: at.Add(time.Duration(i) * time.Second),
		}
		code := grants.Code{Hash: auth.Hash(u.ID), ClientID: "c", ExpiresAt: at.Add(time.Minute)}
		if _, err := db.Grants.GrantOAuth(ctx, g, code, at.Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	of := func(email string) (ids []string) {
		t.Helper()
		list, err := dir.Grants(ctx, email)
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range list {
			ids = append(ids, g.User+" "+g.Client)
		}
		return ids
	}
	if diff := cmp.Diff([]string{"bob@example.com App", "ann@example.com App"}, of("")); diff != "" {
		t.Error(diff)
	}
	list, err := dir.Grants(ctx, "ann@example.com")
	if err != nil {
		t.Fatal(err)
	}
	want := []app.Grant{{ID: list[0].ID, User: ann.Email, Client: "App", Host: "app.example", Agents: []string{"agent_gone"}, CreatedAt: at}}
	if diff := cmp.Diff(want, list); diff != "" {
		t.Error(diff)
	}
	if err := dir.RevokeGrant(ctx, list[0].ID); err != nil {
		t.Fatal(err)
	}
	if left := of("ann@example.com"); left != nil {
		t.Errorf("still granted: %v", left)
	}
	if err := dir.RevokeGrant(ctx, "nothing"); beeos.CodeOf(err) != beeos.NotFound {
		t.Error(err)
	}
	rows, err := db.Audit.List(ctx, ann.ID, 1)
	if err != nil || len(rows) != 1 || rows[0].Action != "grant.revoke" || rows[0].Actor != "operator" {
		t.Errorf("%+v, %v", rows, err)
	}
}
