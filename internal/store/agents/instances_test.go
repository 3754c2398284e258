package agents_test

import (
	"context"
	"crypto/ed25519"
	"encoding/hex"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store"
	"github.com/beeos/beeos/internal/store/agents"
	"github.com/beeos/beeos/internal/store/database"
	"github.com/beeos/beeos/internal/store/storetest"
)

func TestInstances(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.Store) {
		ctx := t.Context()
		u, inst := storetest.Owner(t, db, "a@example.com")
		second := storetest.Instance(t, db, u)
		storetest.Owner(t, db, "b@example.com")
		list, err := db.Instances.List(ctx, u.ID)
		if diff := cmp.Diff([]beeos.Instance{inst, second}, list); diff != "" || err != nil {
			t.Errorf("list: %v\n%s", err, diff)
		}
		if all, err := db.Instances.List(ctx, ""); err != nil || len(all) != 3 {
			t.Errorf("everybody's: %d, %v", len(all), err)
		}
		seen := database.Now()
		if err := db.Instances.Touch(ctx, map[string]time.Time{inst.ID: seen}); err != nil {
			t.Fatal(err)
		}
		if got, err := db.Instances.Get(ctx, inst.ID); err != nil || !got.LastSeen.Equal(seen) || got.Name != "laptop" {
			t.Errorf("%+v, %v", got, err)
		}
		_, err = db.Instances.Get(ctx, "nothing")
		storetest.WantCode(t, err, beeos.NotFound)
		storetest.WantCode(t, db.Instances.Create(ctx, inst), beeos.Conflict)
		storetest.WantCode(t, db.Instances.Revoke(ctx, u.ID, "nothing"), beeos.NotFound)
		storetest.WantCode(t, db.Instances.Create(ctx, beeos.Instance{ID: "i", OwnerID: u.ID, PublicKey: []byte("short")}), beeos.InvalidParam, "make a new key pair")

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
		storetest.WantCode(t, err, beeos.InvalidToken, "register it again")
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

// TestKeysAreOnTheCurve: every key that somebody made is, and about half of
// what is only as long as one.
func TestKeysAreOnTheCurve(t *testing.T) {
	off := 0
	for range 64 {
		public, private, err := ed25519.GenerateKey(nil)
		if err != nil {
			t.Fatal(err)
		}
		if !agents.IsPoint(public) {
			t.Errorf("%x is refused", public)
		}
		if !agents.IsPoint(private.Seed()) {
			off++
		}
	}
	if off < 8 || off > 56 {
		t.Errorf("%d of 64 random texts are off the curve", off)
	}
}

// TestJoinKeepsTheTokenOfABadInstance: whoever sends nonsense first can still
// join with the token.
func TestJoinKeepsTheTokenOfABadInstance(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.Store) {
		ctx := t.Context()
		u, _ := storetest.Owner(t, db, "a@example.com")
		token, err := db.Instances.CreateJoinToken(ctx, u.ID, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		public, _, err := ed25519.GenerateKey(nil)
		if err != nil {
			t.Fatal(err)
		}
		for what, bad := range map[string]beeos.Instance{
			"weak key":      {ID: "inst_1", Name: "a", PublicKey: make([]byte, 32)},
			"off the curve": {ID: "inst_1", Name: "a", PublicKey: append([]byte{2}, make([]byte, 31)...)},
			"short key":     {ID: "inst_1", Name: "a", PublicKey: public[:31]},
			"bad name":      {ID: "inst_1", Name: "a\x00", PublicKey: public},
		} {
			if _, err := db.Instances.Join(ctx, token, bad); beeos.CodeOf(err) != beeos.InvalidParam {
				t.Errorf("%s: %v", what, err)
			}
		}
		if owner, err := db.Instances.Join(ctx, token, beeos.Instance{ID: "inst_1", Name: "a", PublicKey: public}); err != nil || owner != u.ID {
			t.Errorf("%q, %v", owner, err)
		}
		other, err := db.Instances.CreateJoinToken(ctx, u.ID, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := db.Instances.Join(ctx, other, beeos.Instance{ID: "inst_1", Name: "a", PublicKey: public}); beeos.CodeOf(err) != beeos.Conflict {
			t.Errorf("an id that is taken: %v", err)
		}
		if _, err := db.Instances.Join(ctx, other, beeos.Instance{ID: "inst_2", Name: "a", PublicKey: public}); err != nil {
			t.Errorf("the token after that: %v", err)
		}
		_, err = db.Instances.Join(ctx, token, beeos.Instance{ID: "inst_3", Name: "a", PublicKey: public})
		storetest.WantCode(t, err, beeos.InvalidToken, "ask for a new one")
	})
}

func TestJoinTokenWorksOnce(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.Store) {
		ctx := context.Background()
		u, _ := storetest.Owner(t, db, "a@example.com")
		token, err := db.Instances.CreateJoinToken(ctx, u.ID, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		ok, codes := storetest.Together(t, 10, func(int) error {
			got, err := db.Instances.UseJoinToken(ctx, token)
			if err == nil && got != u.ID {
				return fmt.Errorf("owner %s", got)
			}
			return err
		})
		if ok != 1 || codes[beeos.InvalidToken] != 9 {
			t.Errorf("%d got in, the others %v", ok, codes)
		}
		late, err := db.Instances.CreateJoinToken(ctx, u.ID, -time.Second)
		if err != nil {
			t.Fatal(err)
		}
		_, err = db.Instances.UseJoinToken(ctx, late)
		storetest.WantCode(t, err, beeos.InvalidToken, "ask for a new one")

		token, err = db.Instances.CreateJoinToken(ctx, u.ID, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		if err := db.People.Lock(ctx, u.ID, time.Now()); err != nil {
			t.Fatal(err)
		}
		_, err = db.Instances.UseJoinToken(ctx, token)
		storetest.WantCode(t, err, beeos.InvalidToken)
	})
}
