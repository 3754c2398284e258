package app_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/access/signin"
	"github.com/beeos/beeos/internal/app"
	"github.com/beeos/beeos/internal/config"
	"github.com/beeos/beeos/internal/store"
	"github.com/beeos/beeos/test/apptest"
	"github.com/beeos/beeos/test/pgtest"
)

// accept uses the link of a running server.
func accept(t *testing.T, cfg config.Config, link string) (beeos.User, error) {
	t.Helper()
	dsn := cfg.DatabaseURL
	if dsn == "" {
		dsn = "sqlite:" + filepath.Join(cfg.Data, "beeos.db")
	}
	db, err := store.Open(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	_, token, ok := strings.Cut(link, "/welcome?token=")
	if !ok {
		t.Fatalf("%q is no link", link)
	}
	people := &signin.People{Table: db.People, Audit: db.Audit}
	return people.AcceptLink(t.Context(), token, "Ann", "ann@example.com", "correct horse battery")
}

// Who uses the link of `beeos dev` owns the demo from then on, through every
// later start.
func TestFirstPersonOwnsTheDemo(t *testing.T) {
	cfg := apptest.Config(t)
	first := apptest.Start(t, cfg)
	if !strings.HasPrefix(first.Setup, first.Web+"/welcome?token=") {
		t.Fatalf("setup link %q", first.Setup)
	}
	if err := first.Stop(); err != nil {
		t.Fatal(err)
	}
	second := apptest.Start(t, cfg)
	_, err := accept(t, cfg, first.Setup)
	if beeos.CodeOf(err) != beeos.NotFound {
		t.Errorf("the link of an earlier start: %v", err)
	}
	ann, err := accept(t, cfg, second.Setup)
	if err != nil {
		t.Fatal(err)
	}
	if err := second.Stop(); err != nil {
		t.Fatal(err)
	}
	third := apptest.Start(t, cfg)
	if third.Setup != "" || third.AgentID != first.AgentID || third.UserKey != first.UserKey {
		t.Errorf("the third start: setup %q, agent %s, key kept %v", third.Setup, third.AgentID, third.UserKey == first.UserKey)
	}
	db, err := store.Open(t.Context(), "sqlite:"+filepath.Join(cfg.Data, "beeos.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	a, err := db.Agents.Get(t.Context(), third.AgentID)
	if err != nil || a.OwnerID != ann.ID {
		t.Errorf("the demo agent is %s's, not %s's; %v", a.OwnerID, ann.ID, err)
	}
	users, err := db.People.ListUsers(t.Context())
	if len(users) != 1 || err != nil {
		t.Errorf("%v, %v", users, err)
	}
}

// Replicas that start one after the other each show a link; the last one
// counts, and none stands in the other's way.
func TestReplicasShowALink(t *testing.T) {
	cfg := apptest.Config(t)
	cfg.DatabaseURL = pgtest.URL(t)
	cfg.ClusterAddr = "127.0.0.1:0"
	one := apptest.StartWith(t, cfg, app.Options{})
	two := apptest.StartWith(t, cfg, app.Options{})
	if one.Setup == "" || two.Setup == "" {
		t.Fatalf("links %q and %q", one.Setup, two.Setup)
	}
	if _, err := accept(t, cfg, two.Setup); err != nil {
		t.Error(err)
	}
	three := apptest.StartWith(t, cfg, app.Options{})
	if three.Setup != "" {
		t.Errorf("a link for nobody: %q", three.Setup)
	}
}
