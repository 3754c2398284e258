package app_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/beeos/beeos/internal/app"
	"github.com/beeos/beeos/internal/store"
	"github.com/beeos/beeos/test/apptest"
	"github.com/beeos/beeos/test/pgtest"
)

// warned waits until a server that takes requests warns of something, or not.
func warned(t *testing.T, a *apptest.App, what string, want bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(200 * time.Millisecond) {
		resp, err := http.Get(a.REST + "/readyz")
		if err != nil {
			t.Fatal(err)
		}
		var state struct{ Warnings []string }
		err = json.NewDecoder(resp.Body).Decode(&state)
		resp.Body.Close()
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("%s, %v", resp.Status, err)
		}
		if slices.Contains(state.Warnings, what) == want {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("the warnings are %v", state.Warnings)
		}
	}
}

// TestServersApartNoticeEachOther: two on one database that share no bus serve, and
// say that something is wrong, until there is only one.
func TestServersApartNoticeEachOther(t *testing.T) {
	cfg := apptest.Config(t)
	cfg.DatabaseURL = pgtest.URL(t)
	one := apptest.StartWith(t, cfg, app.Options{})
	other := apptest.Config(t)
	other.DatabaseURL = cfg.DatabaseURL
	two := apptest.StartWith(t, other, app.Options{})
	warned(t, one, "nodes", true)
	warned(t, two, "nodes", true)
	if servers, err := app.CountServers(t.Context(), cfg); err != nil || servers != 2 {
		t.Errorf("%d servers, %v", servers, err)
	}
	if err := two.Stop(); err != nil {
		t.Fatal(err)
	}
	warned(t, one, "nodes", false)
	if servers, err := app.CountServers(t.Context(), cfg); err != nil || servers != 1 {
		t.Errorf("%d servers, %v", servers, err)
	}
}

// TestServerSaysOftenThatItLives: the others take over from one that does not.
func TestServerSaysOftenThatItLives(t *testing.T) {
	cfg := apptest.Config(t)
	cfg.DatabaseURL = pgtest.URL(t)
	apptest.StartWith(t, cfg, app.Options{})
	db, err := store.Open(t.Context(), cfg.DatabaseURL)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for end := time.Now().Add(5 * time.Second); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if _, err := db.ReadClock(t.Context()); err != nil {
			t.Fatal(err)
		}
		nodes, err := db.Cluster.ListNodes(t.Context(), time.Time{})
		if err != nil || len(nodes) != 1 || db.Cluster.IsSilent(nodes[0]) {
			t.Fatalf("%+v, %v", nodes, err)
		}
	}
}
