package keys_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store"
	"github.com/beeos/beeos/internal/store/database"
	keystore "github.com/beeos/beeos/internal/store/keys"
	"github.com/beeos/beeos/internal/store/storetest"
)

func TestKeys(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.Store) {
		ctx := t.Context()
		u, _ := storetest.Owner(t, db, "a@example.com")
		k := beeos.Key{ID: "k1", Kind: beeos.UserKey, OwnerID: u.ID, Name: "ci", Prefix: "oag_12345678", RatePerMinute: 5, CreatedAt: database.Now(), ExpiresAt: database.Now().Add(time.Hour)}
		if err := db.Keys.Create(ctx, k, storetest.HashOf("one")); err != nil {
			t.Fatal(err)
		}
		got, err := db.Keys.GetByHash(ctx, storetest.HashOf("one"))
		if diff := cmp.Diff(k, got); diff != "" || err != nil {
			t.Errorf("by hash: %v\n%s", err, diff)
		}
		_, err = db.Keys.GetByHash(ctx, storetest.HashOf("other"))
		storetest.WantCode(t, err, beeos.NotFound)

		used := database.Now().Add(time.Minute)
		if err := db.Keys.Touch(ctx, map[string]time.Time{"k1": used, "gone": used}); err != nil {
			t.Fatal(err)
		}
		if err := db.Keys.Touch(ctx, map[string]time.Time{"k1": used.Add(-time.Second)}); err != nil {
			t.Fatal(err)
		}
		storetest.WantCode(t, db.Keys.SetRate(ctx, "somebody else", "k1", 9), beeos.NotFound)
		storetest.WantCode(t, db.Keys.SetRate(ctx, u.ID, "k1", -1), beeos.InvalidParam, "0 (the default)")
		if err := db.Keys.SetRate(ctx, u.ID, "k1", 9); err != nil {
			t.Fatal(err)
		}
		storetest.WantCode(t, db.Keys.Revoke(ctx, "somebody else", "k1"), beeos.NotFound)
		storetest.WantCode(t, db.Keys.Revoke(ctx, u.ID, "k\x001"), beeos.NotFound)
		for range 2 {
			if err := db.Keys.Revoke(ctx, u.ID, "k1"); err != nil {
				t.Fatal(err)
			}
		}
		keys, err := db.Keys.List(ctx, keystore.Filter{Owner: u.ID, Kind: beeos.UserKey})
		if err != nil || len(keys) != 1 || keys[0].RevokedAt.IsZero() || !keys[0].LastUsedAt.Equal(used) || keys[0].RatePerMinute != 9 {
			t.Errorf("after use, a new limit and revocation: %+v, %v", keys, err)
		}
		storetest.WantCode(t, db.Keys.SetRate(ctx, u.ID, "k1", 3), beeos.NotFound)

		k.ID, k.ExpiresAt = "k2", database.Now().Add(-time.Second)
		storetest.WantCode(t, db.Keys.Create(ctx, k, storetest.HashOf("two")), beeos.InvalidParam, "past")
		if err := db.People.Lock(ctx, u.ID, database.Now()); err != nil {
			t.Fatal(err)
		}
		_, err = db.Keys.GetByHash(ctx, storetest.HashOf("one"))
		storetest.WantCode(t, err, beeos.NotFound)
	})
}

func TestFourthAgentKeyIsRefused(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.Store) {
		ctx := context.Background()
		u, inst := storetest.Owner(t, db, "a@example.com")
		r, err := db.Agents.Sync(ctx, inst, []beeos.Definition{{Name: "echo"}})
		if err != nil {
			t.Fatal(err)
		}
		agent := r.Created[0].ID
		create := func(id string) error {
			return db.Keys.Create(ctx, beeos.Key{ID: id, Kind: beeos.AgentKey, OwnerID: u.ID, AgentID: agent}, storetest.HashOf(id))
		}
		ok, codes := storetest.Together(t, 12, func(i int) error { return create(fmt.Sprint("key", i)) })
		if ok != beeos.MaxKeysPerAgent || codes[beeos.Conflict] != 12-beeos.MaxKeysPerAgent {
			t.Fatalf("%d created, the others %v", ok, codes)
		}
		storetest.WantCode(t, create("more"), beeos.Conflict, "revoke one first")

		keys, err := db.Keys.List(ctx, keystore.Filter{AgentID: agent})
		if err != nil || len(keys) != 3 {
			t.Fatalf("%v, %v", keys, err)
		}
		if err := db.Keys.Revoke(ctx, u.ID, keys[0].ID); err != nil {
			t.Fatal(err)
		}
		if err := create("again"); err != nil {
			t.Errorf("after a revocation: %v", err)
		}
		other, _ := storetest.Owner(t, db, "b@example.com")
		err = db.Keys.Create(ctx, beeos.Key{ID: "x", Kind: beeos.AgentKey, OwnerID: other.ID, AgentID: agent}, storetest.HashOf("x"))
		storetest.WantCode(t, err, beeos.AgentNotFound)
	})
}
