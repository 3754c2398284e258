package quota

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store"
	"github.com/beeos/beeos/test/pgtest"
)

// clock is a time that the test moves.
type clock struct{ nanos atomic.Int64 }

func (c *clock) now() time.Time       { return time.Unix(0, c.nanos.Load()) }
func (c *clock) move(d time.Duration) { c.nanos.Add(int64(d)) }

// replicas are nodes that share a database.
func replicas(t testing.TB, n int) ([]*Quotas, *clock) {
	t.Helper()
	nodes, c, _ := replicasOn(t, n)
	return nodes, c
}

// replicasOn also returns the handles with which each has opened the database.
func replicasOn(t testing.TB, n int) ([]*Quotas, *clock, []*store.Store) {
	t.Helper()
	dsn, c := pgtest.URL(t), &clock{}
	c.nanos.Store(time.Now().UnixNano())
	var nodes []*Quotas
	var handles []*store.Store
	for range n {
		db, err := store.Open(t.Context(), dsn)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { db.Close() })
		// A busy machine is no failed database.
		q := New(Options{Cluster: db.Cluster, Log: slog.New(slog.DiscardHandler), Now: c.now, PerMinute: 60, Shared: true, DrawWithin: time.Minute})
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error, 1)
		go func() { done <- q.Run(ctx) }() // awaited below
		t.Cleanup(func() {
			cancel()
			if err := <-done; err != nil {
				t.Error(err)
			}
		})
		nodes, handles = append(nodes, q), append(handles, db)
	}
	return nodes, c, handles
}

// tryCall asks a node for one call out of a quota.
func tryCall(t testing.TB, n *Quotas, perMinute int) (ok bool, retry time.Duration) {
	t.Helper()
	caller := beeos.Caller{CredentialID: "k", RatePerMinute: perMinute}
	err := n.Take(t.Context(), &caller, &beeos.Agent{ID: "agent_a"})
	var e *beeos.Error
	if err != nil && (!errors.As(err, &e) || e.Code != beeos.RateLimited) {
		t.Errorf("Take: %v", err)
		return false, 0
	}
	if err != nil {
		return false, e.RetryAfter
	}
	return true, 0
}

// within complains unless got is at most 5 % away from want.
func within(t *testing.T, what string, got, want int) {
	t.Helper()
	t.Logf("%s: %d calls admitted, %d are right", what, got, want)
	if 20*max(got-want, want-got) > want {
		t.Errorf("%s: %d calls were admitted, want %d ± 5 %%", what, got, want)
	}
}

// TestQuotaOfABurst: everybody calls at once, at whichever node.
func TestQuotaOfABurst(t *testing.T) {
	for _, size := range []int{2, 3} {
		for _, quota := range []int{60, 6000} {
			t.Run(fmt.Sprintf("%d nodes, %d a minute", size, quota), func(t *testing.T) {
				nodes, clock := replicas(t, size)
				admitted, longest := burst(t, nodes, quota, quota*10/3)
				within(t, "a burst", admitted, quota)
				if limit := max(time.Minute/time.Duration(quota), drawPause); longest <= 0 || longest > limit {
					t.Errorf("callers are told to try again in %s, want at most %s", longest, limit)
				}
				clock.move(longest)
				if ok, retry := tryCall(t, nodes[0], quota); !ok {
					t.Errorf("a retry after that is refused for another %s", retry)
				}
			})
		}
	}
}

// burst makes so many calls side by side and returns how many were admitted,
// and the longest wait that the others were told.
func burst(t *testing.T, nodes []*Quotas, quota, calls int) (admitted int, longest time.Duration) {
	t.Helper()
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range calls {
		wg.Go(func() {
			ok, retry := tryCall(t, nodes[rand.IntN(len(nodes))], quota)
			mu.Lock()
			defer mu.Unlock()
			if ok {
				admitted++
			}
			longest = max(longest, retry)
		})
	}
	wg.Wait()
	return admitted, longest
}

// TestQuotaOverTime: callers who never rest get the burst and then what
// refills.
func TestQuotaOverTime(t *testing.T) {
	for _, c := range []struct {
		quota, perSecond, nodes, seconds int
	}{
		{60, 20, 2, 30},
		{60, 20, 3, 30},
		{6000, 500, 2, 30},
		{50, 100, 2, 60}, // does not divide evenly
	} {
		t.Run(fmt.Sprintf("%d a minute, %d tries a second, %d nodes", c.quota, c.perSecond, c.nodes), func(t *testing.T) {
			nodes, clock := replicas(t, c.nodes)
			admitted := 0
			for range c.perSecond * c.seconds {
				clock.move(time.Second / time.Duration(c.perSecond))
				if ok, _ := tryCall(t, nodes[rand.IntN(len(nodes))], c.quota); ok {
					admitted++
				}
			}
			within(t, fmt.Sprintf("%d seconds", c.seconds), admitted, min(c.perSecond*c.seconds, c.quota+c.quota*c.seconds/60))
		})
	}
}

// TestQuotaOutlivesANode: what a dead node has taken is gone, what it has not
// taken is there for the others.
func TestQuotaOutlivesANode(t *testing.T) {
	const quota = 6000
	nodes, clock := replicas(t, 2)
	for range 100 {
		if ok, _ := tryCall(t, nodes[0], quota); !ok {
			t.Fatal("refused")
		}
	}
	admitted, _ := burst(t, nodes[1:], quota, 2*quota)
	within(t, "the survivor at once", admitted, quota-100)
	clock.move(time.Minute)
	admitted, _ = burst(t, nodes[1:], quota, 2*quota)
	within(t, "the survivor a minute later", admitted, quota)
}

// TestQuotaWithoutItsDatabase: each node goes on by itself, and none lets
// everything through.
func TestQuotaWithoutItsDatabase(t *testing.T) {
	nodes, clock, handles := replicasOn(t, 2)
	for i, n := range nodes {
		handles[i].Close()
		if admitted, longest := burst(t, []*Quotas{n}, 60, 200); admitted != 60 || longest > time.Second {
			t.Errorf("%d calls were admitted, the others told to wait %s", admitted, longest)
		}
	}
	clock.move(time.Second)
	if ok, _ := tryCall(t, nodes[0], 60); !ok {
		t.Error("refused after a second")
	}
}

// TestQuotaOfACallerWhoLeaves: nobody waits for somebody else's database.
func TestQuotaOfACallerWhoLeaves(t *testing.T) {
	nodes, _ := replicas(t, 1)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := nodes[0].Take(ctx, &beeos.Caller{CredentialID: "k"}, &beeos.Agent{ID: "agent_a"})
	if err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// TestQuotaCostsLittle: who calls much and who is refused much must not cost
// the database much.
func TestQuotaCostsLittle(t *testing.T) {
	for _, quota := range []int{60, 6000, 1_000_000} {
		nodes, clock := replicas(t, 1)
		before := nodes[0].shared.draws.Load()
		for range 6000 { // a minute of a hundred calls a second
			clock.move(10 * time.Millisecond)
			tryCall(t, nodes[0], quota)
		}
		draws := nodes[0].shared.draws.Load() - before
		t.Logf("quota %d: %d draws for 6000 calls", quota, draws)
		if draws > 200 {
			t.Errorf("quota %d: %d draws for 6000 calls", quota, draws)
		}
	}
}

func BenchmarkTake(b *testing.B) {
	agent := &beeos.Agent{ID: "agent_a"}
	run := func(b *testing.B, n *Quotas) {
		b.ReportAllocs()
		b.ResetTimer()
		b.RunParallel(func(pb *testing.PB) {
			caller := beeos.Caller{CredentialID: "k", RatePerMinute: 1_000_000_000}
			for pb.Next() {
				if err := n.Take(b.Context(), &caller, agent); err != nil {
					b.Error(err)
				}
			}
		})
	}
	b.Run("alone", func(b *testing.B) { run(b, New(Options{Now: time.Now})) })
	b.Run("together", func(b *testing.B) {
		nodes, _ := replicas(b, 1)
		run(b, nodes[0])
	})
	b.Run("together, call by call", func(b *testing.B) { // the quota of 60, for somebody else each time
		nodes, _ := replicas(b, 1)
		n := 0
		for b.Loop() {
			n++
			caller := beeos.Caller{CredentialID: fmt.Sprint(n), RatePerMinute: 60}
			if err := nodes[0].Take(b.Context(), &caller, agent); err != nil {
				b.Error(err)
			}
		}
	})
}
