package grants_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store"
	"github.com/beeos/beeos/internal/store/database"
	"github.com/beeos/beeos/internal/store/grants"
	"github.com/beeos/beeos/internal/store/storetest"
)

func TestOAuthKeysRetire(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.Store) {
		ctx, at := t.Context(), database.Now()
		first := grants.SigningKey{ID: "k1", Secret: []byte{0, 255}, CreatedAt: at}
		second := grants.SigningKey{ID: "k2", Secret: []byte{1}, CreatedAt: at.Add(time.Second)}
		err := errors.Join(
			db.Grants.AddSigningKey(ctx, first, at, true),
			db.Grants.AddSigningKey(ctx, grants.SigningKey{ID: "late", CreatedAt: at}, at, true), // another replica was first
			db.Grants.AddSigningKey(ctx, second, at.Add(time.Hour), false))
		if err != nil {
			t.Fatal(err)
		}
		first.RetiresAt = at.Add(time.Hour)
		keys, err := db.Grants.ListSigningKeys(ctx, at)
		if diff := cmp.Diff([]grants.SigningKey{second, first}, keys); diff != "" || err != nil {
			t.Error(err, diff)
		}
		if err := db.Grants.Prune(ctx, at.Add(2*time.Hour)); err != nil {
			t.Fatal(err)
		}
		if keys, err = db.Grants.ListSigningKeys(ctx, at); len(keys) != 1 || err != nil {
			t.Errorf("after pruning %v, %v", keys, err)
		}
	})
}

func TestOAuthClients(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.Store) {
		ctx, at := t.Context(), database.Now()
		c := grants.Client{ID: "c1", Name: "App", RedirectURIs: []string{"https://app.example/cb"}, CreatedAt: at, ExpiresAt: at.Add(time.Hour)}
		if err := db.Grants.CreateClient(ctx, c, 1); err != nil {
			t.Fatal(err)
		}
		storetest.WantCode(t, db.Grants.CreateClient(ctx, grants.Client{ID: "c2"}, 1), beeos.AgentServiceUnavailable)
		got, err := db.Grants.GetClient(ctx, "c1", at)
		if diff := cmp.Diff(c, got); diff != "" || err != nil {
			t.Error(err, diff)
		}
		for _, id := range []string{"c2", "zero\x00", "broken\xff"} {
			_, err = db.Grants.GetClient(ctx, id, at)
			storetest.WantCode(t, err, beeos.NotFound)
		}
		_, err = db.Grants.GetClient(ctx, "c1", at.Add(2*time.Hour))
		storetest.WantCode(t, err, beeos.NotFound)
	})
}

func TestOAuthTxIsAnsweredByOneAndTakenOnce(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.Store) {
		ctx, at := t.Context(), database.Now()
		tx := grants.Flow{ID: "tx", Binder: storetest.HashOf("b"), ClientID: "c", ClientName: "App", RedirectURI: "https://a/cb", State: "s", Challenge: "ch", Resource: "r", Scope: "x", ExpiresAt: at.Add(time.Minute)}
		if err := db.Grants.BeginFlow(ctx, tx); err != nil {
			t.Fatal(err)
		}
		_, err := db.Grants.TakeFlow(ctx, "tx", nil, at)
		storetest.WantCode(t, err, beeos.NotFound)
		_, err = db.Grants.TakeFlow(ctx, "tx", []byte{}, at)
		storetest.WantCode(t, err, beeos.NotFound)
		answer := grants.Flow{ID: "tx", UserID: "u", Ticket: storetest.HashOf("1"), Allowed: true, Agents: []string{"a"}, Until: at.Add(time.Hour)}
		if err := db.Grants.AnswerFlow(ctx, answer, at); err != nil {
			t.Fatal(err)
		}
		answer.Ticket = storetest.HashOf("2")
		if err := db.Grants.AnswerFlow(ctx, answer, at); err != nil {
			t.Fatal("the same person again: ", err)
		}
		answer.UserID = "other"
		storetest.WantCode(t, db.Grants.AnswerFlow(ctx, answer, at), beeos.NotFound)
		_, err = db.Grants.TakeFlow(ctx, "tx", storetest.HashOf("1"), at)
		storetest.WantCode(t, err, beeos.NotFound)
		ok, codes := storetest.Together(t, 8, func(int) error {
			got, err := db.Grants.TakeFlow(ctx, "tx", storetest.HashOf("2"), at)
			if err == nil && (got.State != "s" || got.UserID != "u" || len(got.Agents) != 1 || !got.Until.Equal(at.Add(time.Hour))) {
				return fmt.Errorf("taken as %+v", got)
			}
			return err
		})
		if ok != 1 || codes[beeos.NotFound] != 7 {
			t.Errorf("%d took it, %v", ok, codes)
		}
	})
}

func TestOAuthGrantIsOnePerClient(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.Store) {
		ctx := t.Context()
		u, _ := storetest.Owner(t, db, "a@example.com")
		g, f := storetest.Granted(t, db, u, "c", "agent_a")
		again, _ := storetest.Granted(t, db, u, "c", "agent_a", "agent_b")
		if again.ID != g.ID {
			t.Errorf("a second grant %s beside %s", again.ID, g.ID)
		}
		_, live, err := db.Grants.GetFamily(ctx, f.ID, database.Now())
		if err != nil || len(live.Agents) != 2 || live.ClientName != "App" {
			t.Errorf("%+v, %v", live, err)
		}
		if _, err := db.Grants.NarrowGrant(ctx, u.ID, g.ID, func(g grants.Grant) ([]string, error) { return g.Agents[:1], nil }); err != nil {
			t.Fatal(err)
		}
		_, err = db.Grants.NarrowGrant(ctx, "other", g.ID, func(g grants.Grant) ([]string, error) { return nil, nil })
		storetest.WantCode(t, err, beeos.NotFound)
		if live, err := db.Grants.GetLiveGrant(ctx, u.ID, "c"); err != nil || cmp.Diff([]string{"agent_a"}, live.Agents) != "" {
			t.Errorf("narrowed to %v, %v", live.Agents, err)
		}
		at := database.Now()
		if err := db.Grants.TouchGrants(ctx, map[string]time.Time{g.ID: at}); err != nil {
			t.Fatal(err)
		}
		_, err = db.Grants.RevokeGrant(ctx, "other", g.ID, at)
		storetest.WantCode(t, err, beeos.NotFound)
		if _, err := db.Grants.RevokeGrant(ctx, u.ID, g.ID, at); err != nil {
			t.Fatal(err)
		}
		_, _, err = db.Grants.GetFamily(ctx, f.ID, at)
		storetest.WantCode(t, err, beeos.NotFound)
		list, err := db.Grants.ListGrants(ctx, u.ID)
		if err != nil || len(list) != 1 || !list[0].RevokedAt.Equal(at) || !list[0].UsedAt.Equal(at) {
			t.Errorf("%+v, %v", list, err)
		}
		if next, _ := storetest.Granted(t, db, u, "c", "agent_a"); next.ID == g.ID {
			t.Error("a revoked grant came back to life")
		}
	})
}

// TestOAuthCodeIsUsedOnce: of many at once one gets the tokens, and the others
// take them away again.
func TestOAuthCodeIsUsedOnce(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.Store) {
		ctx := t.Context()
		u, _ := storetest.Owner(t, db, "a@example.com")
		for round := range 20 {
			c := grants.Code{Hash: storetest.HashOf(fmt.Sprint(round)), FamilyID: beeos.NewID(), ClientID: "c", ExpiresAt: database.Now().Add(time.Minute)}
			if _, err := db.Grants.GrantOAuth(ctx, grants.Grant{ID: beeos.NewID(), UserID: u.ID, ClientID: "c", CreatedAt: database.Now()}, c, database.Now()); err != nil {
				t.Fatal(err)
			}
			ok, codes := storetest.Together(t, 4, func(int) error {
				_, _, _, err := db.Grants.RedeemOAuth(ctx, c.Hash, func(c grants.Code, g grants.Grant) (grants.Family, error) {
					return grants.Family{ID: c.FamilyID, GrantID: g.ID, UserID: g.UserID, Token: storetest.HashOf("t"), ExpiresAt: database.Now().Add(time.Hour)}, nil
				})
				return err
			})
			if ok != 1 || codes[beeos.NotFound] != 3 {
				t.Fatalf("%d redeemed it, %v", ok, codes)
			}
			_, _, err := db.Grants.GetFamily(ctx, c.FamilyID, database.Now())
			storetest.WantCode(t, err, beeos.NotFound)
		}
	})
}

func TestOAuthFamilyFollowsItsPerson(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.Store) {
		ctx := t.Context()
		u, _ := storetest.Owner(t, db, "a@example.com")
		_, f := storetest.Granted(t, db, u, "c", "a")
		own := grants.Family{ID: beeos.NewID(), UserID: u.ID, Token: storetest.HashOf("t"), ExpiresAt: database.Now().Add(time.Hour)}
		if err := db.Grants.CreateFamily(ctx, own); err != nil {
			t.Fatal(err)
		}
		for _, at := range []time.Time{database.Now(), {}} {
			if err := db.People.Lock(ctx, u.ID, at); err != nil {
				t.Fatal(err)
			}
			for _, id := range []string{f.ID, own.ID} {
				if _, _, err := db.Grants.GetFamily(ctx, id, database.Now()); (err == nil) != at.IsZero() {
					t.Errorf("disabled at %v: %v", at, err)
				}
			}
		}
		if err := db.Grants.EndFamiliesOf(ctx, u.ID); err != nil {
			t.Fatal(err)
		}
		_, _, err := db.Grants.GetFamily(ctx, own.ID, database.Now())
		storetest.WantCode(t, err, beeos.NotFound)
		if err := db.Grants.EndFamily(ctx, f.ID); err != nil {
			t.Fatal(err)
		}
		_, _, err = db.Grants.GetFamily(ctx, f.ID, database.Now())
		storetest.WantCode(t, err, beeos.NotFound)
	})
}

func TestRotations(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.Store) {
		u, _ := storetest.Owner(t, db, "a@example.com")
		_, f := storetest.Granted(t, db, u, "c", "a")
		queue := db.Grants
		wins := make([]bool, 50)
		storetest.Together(t, len(wins), func(i int) (err error) {
			wins[i], err = queue.Rotate(t.Context(), grants.Rotation{FamilyID: f.ID, Token: storetest.HashOf("t0"), Successor: storetest.HashOf("t1"), At: database.Now(), ExpiresAt: database.Now().Add(time.Hour)})
			return err
		})
		won := 0
		for _, w := range wins {
			if w {
				won++
			}
		}
		got, _, err := db.Grants.GetFamily(t.Context(), f.ID, database.Now())
		if won != 1 || err != nil || got.Generation != 2 || cmp.Diff(storetest.HashOf("t1"), got.Token) != "" || cmp.Diff(storetest.HashOf("t0"), got.Previous) != "" {
			t.Errorf("%d won: %+v, %v", won, got, err)
		}
	})
}

// TestRotationsLeaveOutWhoIsGone: what nobody waited for is not written later.
func TestRotationsLeaveOutWhoIsGone(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.Store) {
		u, _ := storetest.Owner(t, db, "a@example.com")
		_, f := storetest.Granted(t, db, u, "c", "a")
		queue := db.Grants
		queue.Turn() <- struct{}{} // somebody writes
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		r := grants.Rotation{FamilyID: f.ID, Token: storetest.HashOf("t0"), Successor: storetest.HashOf("lost"), At: database.Now(), ExpiresAt: database.Now().Add(time.Hour)}
		if won, err := queue.Rotate(ctx, r); won || !errors.Is(err, context.Canceled) {
			t.Fatal(won, err)
		}
		<-queue.Turn()
		r.Successor = storetest.HashOf("t1")
		if won, err := queue.Rotate(t.Context(), r); !won || err != nil {
			t.Errorf("%v, %v", won, err)
		}
	})
}

func TestFamilyIsFoundByIndexes(t *testing.T) {
	storetest.WantIndex(t, storetest.Open(t, storetest.SQLiteURL(t)), grants.FamilyQuery)
}
