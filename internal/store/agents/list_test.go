package agents_test

import (
	"testing"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store"
	"github.com/beeos/beeos/internal/store/agents"
	"github.com/beeos/beeos/internal/store/storetest"
)

// TestListByVisibilityGoesOnAfterAnAgent: a page begins behind the one that the
// page before ended with, also when that one is deleted by then.
func TestListByVisibilityGoesOnAfterAnAgent(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.Store) {
		_, inst := storetest.Owner(t, db, "a@example.com")
		storetest.Sync(t, db, inst, beeos.Definition{Name: "a"}, beeos.Definition{Name: "b"}, beeos.Definition{Name: "c"}, beeos.Definition{Name: "private"})
		offered := beeos.VisibleMarketplace
		for _, name := range []string{"a", "b", "c"} {
			a, err := db.Agents.GetByName(t.Context(), inst.OwnerID, name)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := db.Agents.Update(t.Context(), a.ID, agents.Patch{Visibility: &offered}); err != nil {
				t.Fatal(err)
			}
		}
		f := agents.Filter{Visibility: []beeos.Visibility{offered}, Limit: 1}
		seen := map[string]bool{}
		for range 3 {
			page, _, err := db.Agents.List(t.Context(), f)
			if err != nil || len(page) != 1 {
				t.Fatalf("%v, %v", page, err)
			}
			seen[page[0].Name] = true
			if err := db.Agents.Delete(t.Context(), page[0].ID); err != nil {
				t.Fatal(err)
			}
			f.After = page[0].ID
		}
		if page, _, err := db.Agents.List(t.Context(), f); err != nil || len(page) != 0 || len(seen) != 3 {
			t.Errorf("after all: %v, %v; seen %v", page, err, seen)
		}
	})
}
