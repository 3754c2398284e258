package act_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/access/auth"
	"github.com/beeos/beeos/internal/engine/bus"
	"github.com/beeos/beeos/internal/store"
	"github.com/beeos/beeos/internal/store/storetest"
)

// TestKeyIsLimitedLater: the owner changes the limit of a key that is in use.
// Every node hears of it, so the next look at the key finds the new one.
func TestKeyIsLimitedLater(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.Store) {
		ctx := t.Context()
		b, err := bus.Open(ctx, bus.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(b.Close)
		r := newRigOn(t, db, b, nil)
		callers := auth.New(auth.Options{Keys: db.Keys, Instances: db.Instances, People: db.People, Cluster: db.Cluster})
		b.OnControl(func(c bus.Control) { callers.Forget(c.ID) })
		owner := by(r.owner)
		for _, agent := range []string{"", r.agent} {
			k, secret, err := r.CreateKey(ctx, owner, beeos.Key{Name: "ci", AgentID: agent, RatePerMinute: 7})
			if err != nil {
				t.Fatal(err)
			}
			wantRate := func(want int) {
				t.Helper()
				if c, err := callers.Key(ctx, secret); err != nil || c.RatePerMinute != want {
					t.Errorf("agent %q: %+v, %v, want %d", agent, c, err, want)
				}
			}
			wantRate(7)
			_, err = r.LimitKey(ctx, by(r.stranger), agent, k.ID, 1)
			if code := beeos.CodeOf(err); code != beeos.NotFound && code != beeos.AgentNotFound {
				t.Errorf("agent %q, a stranger: %v", agent, err)
			}
			for _, bad := range []int{-1, 1_000_001} {
				_, err := r.LimitKey(ctx, owner, agent, k.ID, bad)
				wantCode(t, err, beeos.InvalidParam, "from 0")
			}
			r.told = nil
			got, err := r.LimitKey(ctx, owner, agent, k.ID, 2)
			if err != nil || got.RatePerMinute != 2 {
				t.Errorf("agent %q: %+v, %v", agent, got, err)
			}
			if diff := cmp.Diff([]bus.Control{{Kind: bus.KeyChanged, ID: k.ID}}, r.told); diff != "" {
				t.Error(diff)
			}
			wantRate(2)
			if _, err := r.LimitKey(ctx, owner, agent, k.ID, 0); err != nil {
				t.Fatal(err)
			}
			wantRate(0)
			if err := r.RevokeKey(ctx, owner, agent, k.ID); err != nil {
				t.Fatal(err)
			}
			_, err = r.LimitKey(ctx, owner, agent, k.ID, 5)
			wantCode(t, err, beeos.NotFound, "list the keys")
		}
		if got, each := r.actions(r.owner), "key.create key.update key.update key.revoke"; got != each+" "+each {
			t.Error(got)
		}
		rows, err := db.Audit.List(ctx, r.owner.ID, 10)
		if err != nil || rows[2].Detail["rate_limit"] != "2" || rows[2].Detail["name"] != "ci" {
			t.Errorf("%+v, %v", rows, err)
		}
	})
}
