package store

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store/database"
	"github.com/beeos/beeos/internal/store/grants"
)

// granted puts a grant, its code and its family into the store.
func granted(t *testing.T, db *Store, u beeos.User, client string, agents ...string) (grants.Grant, grants.Family) {
	t.Helper()
	g := grants.Grant{ID: beeos.NewID(), UserID: u.ID, ClientID: client, ClientName: "App", ClientHost: "app.example", Agents: agents, CreatedAt: database.Now()}
	c := grants.Code{Hash: hashOf("code " + g.ID), FamilyID: beeos.NewID(), ClientID: client, ExpiresAt: database.Now().Add(time.Minute)}
	id, err := db.Grants.GrantOAuth(t.Context(), g, c, database.Now().Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	g.ID = id
	f, _, spent, err := db.Grants.RedeemOAuth(t.Context(), c.Hash, func(c grants.Code, g grants.Grant) (grants.Family, error) {
		return grants.Family{ID: c.FamilyID, GrantID: g.ID, UserID: g.UserID, ClientID: c.ClientID, Token: hashOf("t0"), RotatedAt: database.Now(), ExpiresAt: database.Now().Add(time.Hour)}, nil
	})
	if err != nil || spent != "" {
		t.Fatal(spent, err)
	}
	return g, f
}

func TestOAuthKeysRetire(t *testing.T) {
	each(t, func(t *testing.T, db *Store) {
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
	each(t, func(t *testing.T, db *Store) {
		ctx, at := t.Context(), database.Now()
		c := grants.Client{ID: "c1", Name: "App", RedirectURIs: []string{"https://app.example/cb"}, CreatedAt: at, ExpiresAt: at.Add(time.Hour)}
		if err := db.Grants.CreateClient(ctx, c, 1); err != nil {
			t.Fatal(err)
		}
		wantCode(t, db.Grants.CreateClient(ctx, grants.Client{ID: "c2"}, 1), beeos.AgentServiceUnavailable)
		got, err := db.Grants.GetClient(ctx, "c1", at)
		if diff := cmp.Diff(c, got); diff != "" || err != nil {
			t.Error(err, diff)
		}
		for _, id := range []string{"c2", "zero\x00", "broken\xff"} {
			_, err = db.Grants.GetClient(ctx, id, at)
			wantCode(t, err, beeos.NotFound)
		}
		_, err = db.Grants.GetClient(ctx, "c1", at.Add(2*time.Hour))
		wantCode(t, err, beeos.NotFound)
	})
}

func TestOAuthTxIsAnsweredByOneAndTakenOnce(t *testing.T) {
	each(t, func(t *testing.T, db *Store) {
		ctx, at := t.Context(), database.Now()
		tx := grants.Flow{ID: "tx", Binder: hashOf("b"), ClientID: "c", ClientName: "App", RedirectURI: "https://a/cb", State: "s", Challenge: "ch", Resource: "r", Scope: "x", ExpiresAt: at.Add(time.Minute)}
		if err := db.Grants.BeginFlow(ctx, tx); err != nil {
			t.Fatal(err)
		}
		_, err := db.Grants.TakeFlow(ctx, "tx", nil, at)
		wantCode(t, err, beeos.NotFound)
		_, err = db.Grants.TakeFlow(ctx, "tx", []byte{}, at)
		wantCode(t, err, beeos.NotFound)
		answer := grants.Flow{ID: "tx", UserID: "u", Ticket: hashOf("1"), Allowed: true, Agents: []string{"a"}, Until: at.Add(time.Hour)}
		if err := db.Grants.AnswerFlow(ctx, answer, at); err != nil {
			t.Fatal(err)
		}
		answer.Ticket = hashOf("2")
		if err := db.Grants.AnswerFlow(ctx, answer, at); err != nil {
			t.Fatal("the same person again: ", err)
		}
		answer.UserID = "other"
		wantCode(t, db.Grants.AnswerFlow(ctx, answer, at), beeos.NotFound)
		_, err = db.Grants.TakeFlow(ctx, "tx", hashOf("1"), at)
		wantCode(t, err, beeos.NotFound)
		ok, codes := together(t, 8, func(int) error {
			got, err := db.Grants.TakeFlow(ctx, "tx", hashOf("2"), at)
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
	each(t, func(t *testing.T, db *Store) {
		ctx := t.Context()
		u, _ := owner(t, db, "a@example.com")
		g, f := granted(t, db, u, "c", "agent_a")
		again, _ := granted(t, db, u, "c", "agent_a", "agent_b")
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
		wantCode(t, err, beeos.NotFound)
		if live, err := db.Grants.GetLiveGrant(ctx, u.ID, "c"); err != nil || cmp.Diff([]string{"agent_a"}, live.Agents) != "" {
			t.Errorf("narrowed to %v, %v", live.Agents, err)
		}
		at := database.Now()
		if err := db.Grants.TouchGrants(ctx, map[string]time.Time{g.ID: at}); err != nil {
			t.Fatal(err)
		}
		_, err = db.Grants.RevokeGrant(ctx, "other", g.ID, at)
		wantCode(t, err, beeos.NotFound)
		if _, err := db.Grants.RevokeGrant(ctx, u.ID, g.ID, at); err != nil {
			t.Fatal(err)
		}
		_, _, err = db.Grants.GetFamily(ctx, f.ID, at)
		wantCode(t, err, beeos.NotFound)
		list, err := db.Grants.ListGrants(ctx, u.ID)
		if err != nil || len(list) != 1 || !list[0].RevokedAt.Equal(at) || !list[0].UsedAt.Equal(at) {
			t.Errorf("%+v, %v", list, err)
		}
		if next, _ := granted(t, db, u, "c", "agent_a"); next.ID == g.ID {
			t.Error("a revoked grant came back to life")
		}
	})
}

// TestOAuthCodeIsUsedOnce: of many at once one gets the tokens, and the others
// take them away again.
func TestOAuthCodeIsUsedOnce(t *testing.T) {
	each(t, func(t *testing.T, db *Store) {
		ctx := t.Context()
		u, _ := owner(t, db, "a@example.com")
		for round := range 20 {
			c := grants.Code{Hash: hashOf(fmt.Sprint(round)), FamilyID: beeos.NewID(), ClientID: "c", ExpiresAt: database.Now().Add(time.Minute)}
			if _, err := db.Grants.GrantOAuth(ctx, grants.Grant{ID: beeos.NewID(), UserID: u.ID, ClientID: "c", CreatedAt: database.Now()}, c, database.Now()); err != nil {
				t.Fatal(err)
			}
			ok, codes := together(t, 4, func(int) error {
				_, _, _, err := db.Grants.RedeemOAuth(ctx, c.Hash, func(c grants.Code, g grants.Grant) (grants.Family, error) {
					return grants.Family{ID: c.FamilyID, GrantID: g.ID, UserID: g.UserID, Token: hashOf("t"), ExpiresAt: database.Now().Add(time.Hour)}, nil
				})
				return err
			})
			if ok != 1 || codes[beeos.NotFound] != 3 {
				t.Fatalf("%d redeemed it, %v", ok, codes)
			}
			_, _, err := db.Grants.GetFamily(ctx, c.FamilyID, database.Now())
			wantCode(t, err, beeos.NotFound)
		}
	})
}

func TestOAuthFamilyFollowsItsPerson(t *testing.T) {
	each(t, func(t *testing.T, db *Store) {
		ctx := t.Context()
		u, _ := owner(t, db, "a@example.com")
		_, f := granted(t, db, u, "c", "a")
		own := grants.Family{ID: beeos.NewID(), UserID: u.ID, Token: hashOf("t"), ExpiresAt: database.Now().Add(time.Hour)}
		if err := db.Grants.CreateFamily(ctx, own); err != nil {
			t.Fatal(err)
		}
		for _, at := range []time.Time{database.Now(), {}} {
			if err := db.People.DisableUser(ctx, u.ID, at); err != nil {
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
		wantCode(t, err, beeos.NotFound)
		if err := db.Grants.EndFamily(ctx, f.ID); err != nil {
			t.Fatal(err)
		}
		_, _, err = db.Grants.GetFamily(ctx, f.ID, database.Now())
		wantCode(t, err, beeos.NotFound)
	})
}

func TestRotations(t *testing.T) {
	each(t, func(t *testing.T, db *Store) {
		u, _ := owner(t, db, "a@example.com")
		_, f := granted(t, db, u, "c", "a")
		queue := db.Grants
		wins := make([]bool, 50)
		together(t, len(wins), func(i int) (err error) {
			wins[i], err = queue.Rotate(t.Context(), grants.Rotation{FamilyID: f.ID, Token: hashOf("t0"), Successor: hashOf("t1"), At: database.Now(), ExpiresAt: database.Now().Add(time.Hour)})
			return err
		})
		won := 0
		for _, w := range wins {
			if w {
				won++
			}
		}
		got, _, err := db.Grants.GetFamily(t.Context(), f.ID, database.Now())
		if won != 1 || err != nil || got.Generation != 2 || cmp.Diff(hashOf("t1"), got.Token) != "" || cmp.Diff(hashOf("t0"), got.Previous) != "" {
			t.Errorf("%d won: %+v, %v", won, got, err)
		}
	})
}

// TestRotationsLeaveOutWhoIsGone: what nobody waited for is not written later.
func TestRotationsLeaveOutWhoIsGone(t *testing.T) {
	each(t, func(t *testing.T, db *Store) {
		u, _ := owner(t, db, "a@example.com")
		_, f := granted(t, db, u, "c", "a")
		queue := db.Grants
		queue.Queue.Turn <- struct{}{} // somebody writes
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		r := grants.Rotation{FamilyID: f.ID, Token: hashOf("t0"), Successor: hashOf("lost"), At: database.Now(), ExpiresAt: database.Now().Add(time.Hour)}
		if won, err := queue.Rotate(ctx, r); won || !errors.Is(err, context.Canceled) {
			t.Fatal(won, err)
		}
		<-queue.Queue.Turn
		r.Successor = hashOf("t1")
		if won, err := queue.Rotate(t.Context(), r); !won || err != nil {
			t.Errorf("%v, %v", won, err)
		}
	})
}
