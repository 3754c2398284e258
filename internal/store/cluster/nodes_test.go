package cluster_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/beeos/beeos/internal/store"
	"github.com/beeos/beeos/internal/store/cluster"
	"github.com/beeos/beeos/internal/store/database"
	"github.com/beeos/beeos/internal/store/storetest"
)

func TestSecretIsTheSameForAll(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.Store) {
		values := make([][]byte, 20)
		ok, _ := storetest.Together(t, len(values), func(i int) (err error) {
			values[i], err = db.Cluster.Secret(context.Background(), "session", func() []byte { return []byte(rand.Text()) })
			return err
		})
		if ok != len(values) {
			t.Fatalf("%d succeeded", ok)
		}
		for _, v := range values {
			if len(v) == 0 || string(v) != string(values[0]) {
				t.Fatalf("%q and %q", v, values[0])
			}
		}
		other, err := db.Cluster.Secret(t.Context(), "other", func() []byte { return []byte("x") })
		if err != nil || string(other) != "x" {
			t.Errorf("other = %q, %v", other, err)
		}
	})
}

func TestNonceIsAcceptedOnce(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.Store) {
		ctx := context.Background()
		var fresh atomic.Int32
		storetest.Together(t, 20, func(int) error {
			ok, err := db.Cluster.UseNonce(ctx, "key", "nonce", time.Now().Add(time.Minute))
			if ok {
				fresh.Add(1)
			}
			return err
		})
		if n := fresh.Load(); n != 1 {
			t.Errorf("accepted %d times", n)
		}
		if ok, err := db.Cluster.UseNonce(ctx, "other key", "nonce", time.Now().Add(time.Minute)); !ok || err != nil {
			t.Errorf("another key's nonce: %v, %v", ok, err)
		}
	})
}

func TestPruneForgetsWhatIsOver(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.Store) {
		ctx, at := t.Context(), time.Now()
		u, _ := storetest.Owner(t, db, "a@example.com")
		for i, end := range []time.Time{at.Add(-time.Second), at.Add(time.Minute)} {
			if _, err := db.Cluster.UseNonce(ctx, "key", fmt.Sprint(i), end); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := db.Instances.CreateJoinToken(ctx, u.ID, -time.Minute); err != nil {
			t.Fatal(err)
		}
		if err := db.Cluster.Prune(ctx, at); err != nil {
			t.Fatal(err)
		}
		var nonces, tokens int
		if err := db.QueryRow("SELECT (SELECT count(*) FROM nonces), (SELECT count(*) FROM join_tokens)").Scan(&nonces, &tokens); err != nil || nonces != 1 || tokens != 0 {
			t.Errorf("%d nonces and %d tokens left, %v", nonces, tokens, err)
		}
	})
}

// TestDeadNodesArePruned, and what they ran is nobody's; those that died a moment
// ago are still shown.
func TestDeadNodesArePruned(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.Store) {
		ctx, at := t.Context(), db.Now()
		nodes := []cluster.Node{{ID: "dead", SeenAt: at.Add(-2 * cluster.KeptFor)}, {ID: "dying", SeenAt: at.Add(-time.Minute)}, {ID: "living", SeenAt: at}}
		runs := map[string]string{}
		for _, n := range nodes {
			if err := db.Cluster.PutNode(ctx, n); err != nil {
				t.Fatal(err)
			}
			b := storetest.Builtin(t, db, n.ID)
			if ok, err := db.Builtins.Claim(ctx, b.ID, "", n.ID); err != nil || !ok {
				t.Fatal(ok, err)
			}
			runs[n.ID] = b.ID
		}
		if err := db.Cluster.Prune(ctx, at); err != nil {
			t.Fatal(err)
		}
		left, err := db.Cluster.ListNodes(ctx, time.Time{})
		if err != nil || len(left) != 2 || left[0].ID != "dying" || left[1].ID != "living" {
			t.Errorf("left are %v, %v", left, err)
		}
		for node, id := range runs {
			want := node
			if node == "dead" {
				want = ""
			}
			if b, err := db.Builtins.Get(ctx, "", id); err != nil || b.Node != want {
				t.Errorf("what %s ran is run by %q, %v", node, b.Node, err)
			}
		}
		for _, n := range nodes {
			if got, want := db.Cluster.IsSilent(n), n.ID != "living"; got != want {
				t.Errorf("%s is silent: %t", n.ID, got)
			}
		}
	})
}

func TestNodes(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.Store) {
		ctx, at := t.Context(), database.Now()
		a, b := cluster.Node{ID: "a", RouteURL: "nats://a:6222", SeenAt: at.Add(-time.Minute)}, cluster.Node{ID: "b", RouteURL: "nats://b:6222", SeenAt: at}
		for _, n := range []cluster.Node{b, a} {
			if err := db.Cluster.PutNode(ctx, n); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := db.Cluster.ListNodes(ctx, at.Add(-time.Second)); err != nil || !cmp.Equal(got, []cluster.Node{b}) {
			t.Errorf("lately seen: %v, %v", got, err)
		}
		a.SeenAt, a.RouteURL = at, "nats://moved:6222"
		if err := db.Cluster.PutNode(ctx, a); err != nil {
			t.Fatal(err)
		}
		if got, err := db.Cluster.ListNodes(ctx, at); err != nil || !cmp.Equal(got, []cluster.Node{a, b}) {
			t.Errorf("both: %v, %v", got, err)
		}
		if err := db.Cluster.DropNode(ctx, "b"); err != nil {
			t.Fatal(err)
		}
		if got, err := db.Cluster.ListNodes(ctx, time.Time{}); err != nil || !cmp.Equal(got, []cluster.Node{a}) {
			t.Errorf("after the drop: %v, %v", got, err)
		}
	})
}
