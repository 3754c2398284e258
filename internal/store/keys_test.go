package store

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store/agents"
	"github.com/beeos/beeos/internal/store/database"
	keystore "github.com/beeos/beeos/internal/store/keys"
)

func hashOf(s string) []byte { sum := sha256.Sum256([]byte(s)); return sum[:] }

func TestKeys(t *testing.T) {
	each(t, func(t *testing.T, db *Store) {
		ctx := t.Context()
		u, _ := owner(t, db, "a@example.com")
		k := beeos.Key{ID: "k1", Kind: beeos.UserKey, OwnerID: u.ID, Name: "ci", Prefix: "oag_12345678", RatePerMinute: 5, CreatedAt: database.Now(), ExpiresAt: database.Now().Add(time.Hour)}
		if err := db.Keys.Create(ctx, k, hashOf("one")); err != nil {
			t.Fatal(err)
		}
		got, err := db.Keys.GetByHash(ctx, hashOf("one"))
		if diff := cmp.Diff(k, got); diff != "" || err != nil {
			t.Errorf("by hash: %v\n%s", err, diff)
		}
		_, err = db.Keys.GetByHash(ctx, hashOf("other"))
		wantCode(t, err, beeos.NotFound)

		used := database.Now().Add(time.Minute)
		if err := db.Keys.Touch(ctx, map[string]time.Time{"k1": used, "gone": used}); err != nil {
			t.Fatal(err)
		}
		if err := db.Keys.Touch(ctx, map[string]time.Time{"k1": used.Add(-time.Second)}); err != nil {
			t.Fatal(err)
		}
		wantCode(t, db.Keys.Revoke(ctx, "somebody else", "k1"), beeos.NotFound)
		wantCode(t, db.Keys.Revoke(ctx, u.ID, "k\x001"), beeos.NotFound)
		for range 2 {
			if err := db.Keys.Revoke(ctx, u.ID, "k1"); err != nil {
				t.Fatal(err)
			}
		}
		keys, err := db.Keys.List(ctx, keystore.Filter{Owner: u.ID, Kind: beeos.UserKey})
		if err != nil || len(keys) != 1 || keys[0].RevokedAt.IsZero() || !keys[0].LastUsedAt.Equal(used) {
			t.Errorf("after use and revocation: %+v, %v", keys, err)
		}

		k.ID, k.ExpiresAt = "k2", database.Now().Add(-time.Second)
		wantCode(t, db.Keys.Create(ctx, k, hashOf("two")), beeos.InvalidParam, "past")
		if err := db.People.DisableUser(ctx, u.ID, database.Now()); err != nil {
			t.Fatal(err)
		}
		_, err = db.Keys.GetByHash(ctx, hashOf("one"))
		wantCode(t, err, beeos.NotFound)
	})
}

func TestFourthAgentKeyIsRefused(t *testing.T) {
	each(t, func(t *testing.T, db *Store) {
		ctx := context.Background()
		u, inst := owner(t, db, "a@example.com")
		r, err := db.Agents.Sync(ctx, inst, []beeos.Definition{{Name: "echo"}})
		if err != nil {
			t.Fatal(err)
		}
		agent := r.Created[0].ID
		create := func(id string) error {
			return db.Keys.Create(ctx, beeos.Key{ID: id, Kind: beeos.AgentKey, OwnerID: u.ID, AgentID: agent}, hashOf(id))
		}
		ok, codes := together(t, 12, func(i int) error { return create(fmt.Sprint("key", i)) })
		if ok != beeos.MaxKeysPerAgent || codes[beeos.Conflict] != 12-beeos.MaxKeysPerAgent {
			t.Fatalf("%d created, the others %v", ok, codes)
		}
		wantCode(t, create("more"), beeos.Conflict, "revoke one first")

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
		other, _ := owner(t, db, "b@example.com")
		err = db.Keys.Create(ctx, beeos.Key{ID: "x", Kind: beeos.AgentKey, OwnerID: other.ID, AgentID: agent}, hashOf("x"))
		wantCode(t, err, beeos.AgentNotFound)
	})
}

func TestInstances(t *testing.T) {
	each(t, func(t *testing.T, db *Store) {
		ctx := t.Context()
		u, inst := owner(t, db, "a@example.com")
		second := instance(t, db, u)
		owner(t, db, "b@example.com")
		list, err := db.Instances.List(ctx, u.ID)
		if diff := cmp.Diff([]beeos.Instance{inst, second}, list); diff != "" || err != nil {
			t.Errorf("list: %v\n%s", err, diff)
		}
		if all, err := db.Instances.List(ctx, ""); err != nil || len(all) != 3 {
			t.Errorf("everybody's: %d, %v", len(all), err)
		}
		seen := database.Now()
		if err := db.Instances.Touch(ctx, inst.ID, seen); err != nil {
			t.Fatal(err)
		}
		if got, err := db.Instances.Get(ctx, inst.ID); err != nil || !got.LastSeen.Equal(seen) || got.Name != "laptop" {
			t.Errorf("%+v, %v", got, err)
		}
		_, err = db.Instances.Get(ctx, "nothing")
		wantCode(t, err, beeos.NotFound)
		wantCode(t, db.Instances.Create(ctx, inst), beeos.Conflict)
		wantCode(t, db.Instances.Revoke(ctx, u.ID, "nothing"), beeos.NotFound)
		wantCode(t, db.Instances.Create(ctx, beeos.Instance{ID: "i", OwnerID: u.ID, PublicKey: []byte("short")}), beeos.InvalidParam, "make a new key pair")

		r, err := db.Agents.Sync(ctx, inst, []beeos.Definition{{Name: "shared"}, {Name: "alone"}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := db.Agents.Sync(ctx, second, []beeos.Definition{{Name: "shared"}}); err != nil {
			t.Fatal(err)
		}
		if err := db.Instances.Revoke(ctx, u.ID, inst.ID); err != nil {
			t.Fatal(err)
		}
		for name, active := range map[string]bool{"shared": true, "alone": false} {
			if a, err := db.Agents.Get(ctx, r.IDs()[name]); err != nil || a.Active != active {
				t.Errorf("%s after the revocation: %+v, %v", name, a, err)
			}
		}
		_, err = db.Agents.Sync(ctx, inst, []beeos.Definition{{Name: "alone"}})
		wantCode(t, err, beeos.InvalidToken, "register it again")
	})
}

// With each key of the list, somebody without any private key can make a
// signature that verifies: that is why they are refused.
func TestWeakKeysAreRefused(t *testing.T) {
	forged := make([]byte, ed25519.SignatureSize)
	forged[0] = 1 // R = the neutral point, S = 0
	for text := range agents.SmallOrder {
		key, err := hex.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		fits := false
		for i := range 200 {
			fits = fits || ed25519.Verify(key, fmt.Append(nil, i), forged)
		}
		if !fits {
			t.Errorf("%s is not weak", text)
		}
		for _, sign := range []byte{0, 0x80} {
			key[31] = key[31]&0x7f | sign
			if !agents.WeakKey(key) {
				t.Errorf("%x passes", key)
			}
		}
	}
	if public, _, _ := ed25519.GenerateKey(nil); agents.WeakKey(public) {
		t.Error("a good key is refused")
	}
}
