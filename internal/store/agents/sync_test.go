package agents_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store"
	"github.com/beeos/beeos/internal/store/agents"
	"github.com/beeos/beeos/internal/store/storetest"
)

func names(list []agents.SyncedAgent) []string {
	out := []string{}
	for _, a := range list {
		out = append(out, a.Name)
	}
	slices.Sort(out)
	return out
}

func wantSync(t *testing.T, r agents.SyncResult, created, updated, deactivated, unchanged string) {
	t.Helper()
	got := fmt.Sprint(names(r.Created), names(r.Updated), names(r.Deactivated), names(r.Unchanged))
	if want := fmt.Sprintf("[%s] [%s] [%s] [%s]", created, updated, deactivated, unchanged); got != want {
		t.Errorf("created, updated, deactivated, unchanged: %s, want %s", got, want)
	}
}

func TestSyncIsDeclarative(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.Store) {
		ctx := t.Context()
		_, inst := storetest.Owner(t, db, "a@example.com")
		a, b := beeos.Definition{Name: "A gent", TimeoutMS: 1500}, beeos.Definition{Name: "b"}

		r := storetest.Sync(t, db, inst, a, b)
		wantSync(t, r, "A gent b", "", "", "")
		ids := r.IDs()
		if !strings.HasPrefix(ids["b"], "agent_") || len(ids["b"]) != 22 || strings.ToLower(ids["b"]) != ids["b"] {
			t.Errorf("id %q", ids["b"])
		}
		first, err := db.Agents.Get(ctx, ids["A gent"])
		if err != nil {
			t.Fatal(err)
		}
		want := beeos.Agent{
			ID: ids["A gent"], OwnerID: inst.OwnerID, InstanceID: inst.ID, Name: "A gent", Slug: "a-gent", Active: true, Visibility: beeos.VisiblePrivate,
			MCPEnabled: true, SelfTool: true, HandOver: true, Timeout: 1500e6, Fingerprint: first.Fingerprint, CreatedAt: first.CreatedAt, UpdatedAt: first.CreatedAt,
			Definition: beeos.Definition{Name: "A gent", TimeoutMS: 1500, DeliveryMode: beeos.DeliverPush, Lane: beeos.LaneSession},
		}
		if diff := cmp.Diff(&want, first); diff != "" {
			t.Error(diff)
		}

		wantSync(t, storetest.Sync(t, db, inst, b, a), "", "", "", "A gent b")
		a.Description = "now with words"
		r = storetest.Sync(t, db, inst, a)
		wantSync(t, r, "", "A gent", "b", "")
		if r.Updated[0].ID != ids["A gent"] || r.Deactivated[0] != (agents.SyncedAgent{ID: ids["b"], Name: "b", Slug: "b"}) {
			t.Errorf("ids changed: %+v", r)
		}
		second, err := db.Agents.Get(ctx, ids["A gent"])
		if err != nil || second.Fingerprint == first.Fingerprint || !second.UpdatedAt.After(first.UpdatedAt) {
			t.Errorf("an update that does not show: %+v, %v", second, err)
		}
		if gone, err := db.Agents.Get(ctx, ids["b"]); err != nil || gone.Active {
			t.Errorf("b is still active: %+v, %v", gone, err)
		}
		wantSync(t, storetest.Sync(t, db, inst, a, b), "", "b", "", "A gent")
		wantSync(t, storetest.Sync(t, db, inst), "", "", "A gent b", "")
		text, _ := json.Marshal(storetest.Sync(t, db, inst))
		if string(text) != `{"created":[],"updated":[],"deactivated":[],"unchanged":[]}` {
			t.Errorf("wire form %s", text)
		}
	})
}

func TestSyncLeavesTheOwnersSettings(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.Store) {
		ctx := t.Context()
		_, inst := storetest.Owner(t, db, "a@example.com")
		id := storetest.Sync(t, db, inst, beeos.Definition{Name: "a"}).IDs()["a"]
		public, off, limit := beeos.VisiblePublic, false, 7
		before, err := db.Agents.Get(ctx, id)
		if err != nil {
			t.Fatal(err)
		}
		patched, err := db.Agents.Update(ctx, id, agents.Patch{Visibility: &public, MCPEnabled: &off, SelfTool: &off, RateLimit: &limit})
		if err != nil {
			t.Fatal(err)
		}
		if patched.Fingerprint == before.Fingerprint {
			t.Error("the fingerprint did not change with the settings")
		}
		storetest.Sync(t, db, inst, beeos.Definition{Name: "a", Version: "2"})
		a, err := db.Agents.Get(ctx, id)
		if err != nil || a.Visibility != public || a.MCPEnabled || a.SelfTool || a.RateLimit != limit || a.Definition.Version != "2" {
			t.Errorf("%+v, %v", a, err)
		}
		odd, low := beeos.Visibility("odd"), -1
		for _, p := range []agents.Patch{{Visibility: &odd}, {RateLimit: &low}} {
			_, err = db.Agents.Update(ctx, id, p)
			storetest.WantCode(t, err, beeos.InvalidParam)
		}
		_, err = db.Agents.Update(ctx, "nothing", agents.Patch{MCPEnabled: &off})
		storetest.WantCode(t, err, beeos.AgentNotFound)
	})
}

func TestAgentIsActiveWhileAnyInstanceDeclaresIt(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.Store) {
		u, one := storetest.Owner(t, db, "a@example.com")
		two := storetest.Instance(t, db, u)
		def := beeos.Definition{Name: "a"}
		id := storetest.Sync(t, db, one, def).IDs()["a"]
		wantSync(t, storetest.Sync(t, db, two, def), "", "", "", "a")
		if a, err := db.Agents.Get(t.Context(), id); err != nil || a.InstanceID != two.ID {
			t.Errorf("synced last by %v, %v", a, err)
		}
		wantSync(t, storetest.Sync(t, db, one), "", "", "", "")
		wantSync(t, storetest.Sync(t, db, two), "", "", "a", "")
		_, stranger := storetest.Owner(t, db, "b@example.com")
		if other := storetest.Sync(t, db, stranger, def).IDs()["a"]; other == id {
			t.Error("two owners share an agent")
		}
	})
}

func TestSyncRefusesAndChangesNothing(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.Store) {
		_, inst := storetest.Owner(t, db, "a@example.com")
		good := beeos.Definition{Name: "good", DeliveryMode: beeos.DeliverQueue}
		id := storetest.Sync(t, db, inst, good).IDs()["good"]
		for _, tt := range []struct {
			name string
			defs []beeos.Definition
			code beeos.Code
			want string
		}{
			{"changed delivery mode", []beeos.Definition{{Name: "new"}, {Name: "good", DeliveryMode: beeos.DeliverPush}}, beeos.Conflict, `agent "good" was created with delivery_mode queue`},
			{"bad skill", []beeos.Definition{{Name: "new"}, {Name: "bad", Skills: []beeos.Skill{{Name: "with space"}}}}, beeos.InvalidBody, `agent "bad": skills[0]`},
			{"no name", []beeos.Definition{{Name: "new"}, {}}, beeos.InvalidBody, "agents[1]: name is missing"},
			{"twice", []beeos.Definition{{Name: "new"}, {Name: "new"}}, beeos.InvalidBody, `agent "new" is declared twice`},
			{"own id as skill", []beeos.Definition{{Name: "good", Skills: []beeos.Skill{{Name: id}}}}, beeos.InvalidBody, "name of the agent itself"},
		} {
			_, err := db.Agents.Sync(t.Context(), inst, tt.defs)
			storetest.WantCode(t, err, tt.code, tt.want)
		}
		wantSync(t, storetest.Sync(t, db, inst, beeos.Definition{Name: "good"}), "", "", "", "good") // no mode: as before
		if _, total, err := db.Agents.List(t.Context(), agents.Filter{}); err != nil || total != 1 {
			t.Errorf("%d agents, %v", total, err)
		}
	})
}

func TestSlugsAreUniquePerOwner(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.Store) {
		_, inst := storetest.Owner(t, db, "a@example.com")
		var defs []beeos.Definition
		for _, n := range []string{"My Bot", "my bot", "my-bot", "助手", "機器人", strings.Repeat("long name-", 9)} {
			defs = append(defs, beeos.Definition{Name: n})
		}
		seen := map[string]bool{}
		for _, a := range storetest.Sync(t, db, inst, defs...).Created {
			if seen[a.Slug] || a.Slug == "" || len(a.Slug) > agents.MaxSlug+5 {
				t.Errorf("slug %q of %q", a.Slug, a.Name)
			}
			seen[a.Slug] = true
		}
		if !seen["my-bot"] || !seen["agent"] {
			t.Errorf("slugs %v", seen)
		}
	})
}

// Many instances of one owner declare overlapping sets at once: each name
// must end as one agent, declared by all.
func TestSyncRaces(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.Store) {
		u, _ := storetest.Owner(t, db, "a@example.com")
		insts := make([]beeos.Instance, 10)
		for i := range insts {
			insts[i] = storetest.Instance(t, db, u)
		}
		results := make([]agents.SyncResult, len(insts))
		ok, codes := storetest.Together(t, len(insts), func(i int) (err error) {
			defs := []beeos.Definition{{Name: "a"}, {Name: "b"}, {Name: "c"}}
			if i%2 == 1 {
				slices.Reverse(defs)
			}
			results[i], err = db.Agents.Sync(context.Background(), insts[i], defs)
			return err
		})
		if ok != len(insts) {
			t.Fatalf("%d succeeded, the others %v", ok, codes)
		}
		for _, r := range results {
			if diff := cmp.Diff(results[0].IDs(), r.IDs()); diff != "" {
				t.Fatal(diff)
			}
		}
		var homes int
		if err := db.QueryRow("SELECT count(*) FROM agent_homes").Scan(&homes); err != nil || homes != 3*len(insts) {
			t.Errorf("%d homes, %v", homes, err)
		}
	})
}

// Owner's patches, deletions and syncs at once must not lose each other.
func TestSyncAgainstPatches(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.Store) {
		ctx := context.Background()
		_, inst := storetest.Owner(t, db, "a@example.com")
		id := storetest.Sync(t, db, inst, beeos.Definition{Name: "a"}).IDs()["a"]
		ok, codes := storetest.Together(t, 16, func(i int) error {
			if i%2 == 0 {
				_, err := db.Agents.Sync(ctx, inst, []beeos.Definition{{Name: "a", Version: fmt.Sprint(i)}})
				return err
			}
			limit, public := 100, beeos.VisiblePublic
			_, err := db.Agents.Update(ctx, id, agents.Patch{RateLimit: &limit, Visibility: &public})
			return err
		})
		a, err := db.Agents.Get(ctx, id)
		if ok != 16 || err != nil || a.RateLimit != 100 || a.Definition.Version == "" {
			t.Fatalf("%d succeeded, the others %v; %+v, %v", ok, codes, a, err)
		}
		text, err := agents.EncodeDefinition(a.Definition)
		if err != nil || a.Fingerprint != agents.Fingerprint(a, text) {
			t.Errorf("the fingerprint is not that of the agent: %v", err)
		}
	})
}

func TestDeleteAgent(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.Store) {
		ctx := t.Context()
		u, inst := storetest.Owner(t, db, "a@example.com")
		id := storetest.Sync(t, db, inst, beeos.Definition{Name: "a"}).IDs()["a"]
		if err := db.Keys.Create(ctx, beeos.Key{ID: "k", Kind: beeos.AgentKey, OwnerID: u.ID, AgentID: id}, storetest.HashOf("k")); err != nil {
			t.Fatal(err)
		}
		if err := db.Agents.Delete(ctx, id); err != nil {
			t.Fatal(err)
		}
		_, err := db.Agents.Get(ctx, id)
		storetest.WantCode(t, err, beeos.AgentNotFound)
		_, err = db.Agents.GetByName(ctx, u.ID, "a")
		storetest.WantCode(t, err, beeos.AgentNotFound)
		storetest.WantCode(t, db.Agents.Delete(ctx, id), beeos.AgentNotFound)
		if k, err := db.Keys.GetByHash(ctx, storetest.HashOf("k")); err != nil || k.RevokedAt.IsZero() {
			t.Errorf("its key: %+v, %v", k, err)
		}
		if names, err := db.Agents.ListNames(ctx, []string{id, "agent_nobody"}); err != nil || !cmp.Equal(names, map[string]string{id: "a"}) { // who counts knows it still
			t.Error(names, err)
		}
		if again := storetest.Sync(t, db, inst, beeos.Definition{Name: "a"}); len(again.Created) != 1 || again.Created[0].ID == id || again.Created[0].Slug != "a" {
			t.Errorf("synced again: %+v", again)
		}
	})
}

func TestAgentsFilters(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.Store) {
		ctx := t.Context()
		u, one := storetest.Owner(t, db, "a@example.com")
		two := storetest.Instance(t, db, u)
		_, stranger := storetest.Owner(t, db, "b@example.com")
		ids := storetest.Sync(t, db, one, beeos.Definition{Name: "a"}, beeos.Definition{Name: "b"}, beeos.Definition{Name: "off"}).IDs()
		storetest.Sync(t, db, one, beeos.Definition{Name: "a"}, beeos.Definition{Name: "b"})
		storetest.Sync(t, db, two, beeos.Definition{Name: "b"}, beeos.Definition{Name: "c"})
		storetest.Sync(t, db, stranger, beeos.Definition{Name: "z"})
		public, yes, no := beeos.VisiblePublic, true, false
		if _, err := db.Agents.Update(ctx, ids["a"], agents.Patch{Visibility: &public, MCPEnabled: &no}); err != nil {
			t.Fatal(err)
		}
		for _, tt := range []struct {
			name   string
			filter agents.Filter
			want   string
			total  int
		}{
			{"all", agents.Filter{}, "a b c off z", 5},
			{"owner", agents.Filter{OwnerID: u.ID}, "a b c off", 4},
			{"instance", agents.Filter{OwnerID: u.ID, InstanceID: two.ID}, "b c", 2},
			{"active", agents.Filter{OwnerID: u.ID, Active: &yes}, "a b c", 3},
			{"inactive", agents.Filter{Active: &no}, "off", 1},
			{"mcp", agents.Filter{OwnerID: u.ID, MCPEnabled: &yes, Active: &yes}, "b c", 2},
			{"ids", agents.Filter{IDs: []string{ids["a"], ids["off"], "nothing"}}, "a off", 2},
			{"no ids", agents.Filter{IDs: []string{}}, "", 0},
			{"zero byte", agents.Filter{OwnerID: "\x00"}, "", 0},
		} {
			list, total, err := db.Agents.List(ctx, tt.filter)
			var got []string
			for _, a := range list {
				got = append(got, a.Name)
			}
			slices.Sort(got)
			if strings.Join(got, " ") != tt.want || total != tt.total || err != nil {
				t.Errorf("%s: %v of %d, %v", tt.name, got, total, err)
			}
		}
		seen := map[string]bool{}
		for offset := 0; offset < 6; offset += 2 {
			list, total, err := db.Agents.List(ctx, agents.Filter{Limit: 2, Offset: offset})
			if err != nil || total != 5 {
				t.Fatalf("page at %d: %d, %v", offset, total, err)
			}
			for _, a := range list {
				seen[a.Name] = true
			}
		}
		if len(seen) != 5 {
			t.Errorf("pages show %v", seen)
		}
	})
}
