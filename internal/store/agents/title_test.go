package agents_test

import (
	"strings"
	"testing"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store"
	"github.com/beeos/beeos/internal/store/agents"
	"github.com/beeos/beeos/internal/store/storetest"
)

// TestOwnersNameOutlivesSync: what an owner calls an agent is shown instead of
// what it calls itself, a sync does not undo it and is no change because of it,
// and without it the agent's own name is back.
func TestOwnersNameOutlivesSync(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.Store) {
		ctx := t.Context()
		user, inst := storetest.Owner(t, db, "a@example.com")
		def := beeos.Definition{Name: "a", DisplayName: "Itself"}
		id := storetest.Sync(t, db, inst, def).IDs()["a"]
		rename := func(title string) *beeos.Agent {
			t.Helper()
			a, err := db.Agents.Update(ctx, id, agents.Patch{Title: &title})
			if err != nil {
				t.Fatal(err)
			}
			return a
		}
		before, renamed := rename(""), rename("Parrot")
		if renamed.Definition.DisplayName != "Parrot" || renamed.Fingerprint == before.Fingerprint || renamed.Name != "a" || renamed.Slug != before.Slug {
			t.Errorf("renamed: %+v", renamed)
		}
		if r := storetest.Sync(t, db, inst, def); len(r.Unchanged) != 1 {
			t.Errorf("the same sync: %+v", r)
		}
		def.Version = "2"
		storetest.Sync(t, db, inst, def)
		byName, err := db.Agents.GetByName(ctx, user.ID, "a")
		if err != nil || byName.Definition.DisplayName != "Parrot" || byName.Definition.Version != "2" {
			t.Errorf("after a sync: %+v, %v", byName, err)
		}
		list, _, err := db.Agents.List(ctx, agents.Filter{OwnerID: user.ID})
		if err != nil || len(list) != 1 || list[0].Definition.DisplayName != "Parrot" {
			t.Errorf("in a list: %v, %v", list, err)
		}
		if a := rename(""); a.Definition.DisplayName != "Itself" {
			t.Errorf("without a name of the owner's: %+v", a)
		}
		for _, bad := range []string{strings.Repeat("x", 61), "two\nlines", "a\x00b", "a\u202eb"} {
			_, err := db.Agents.Update(ctx, id, agents.Patch{Title: &bad})
			storetest.WantCode(t, err, beeos.InvalidParam)
		}
	})
}
