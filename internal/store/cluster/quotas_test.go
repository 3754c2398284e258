package cluster_test

import (
	"testing"
	"time"

	"github.com/beeos/beeos/internal/store"
	"github.com/beeos/beeos/internal/store/cluster"
	"github.com/beeos/beeos/internal/store/database"
	"github.com/beeos/beeos/internal/store/storetest"
)

func TestQuotaIsDrawnOnceAndRefillsEvenly(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.Store) {
		start := time.Now().UTC().Truncate(time.Microsecond)
		at := start
		draw := func(agent string, perMinute, want, took int64, next time.Duration) {
			t.Helper()
			got, err := db.Cluster.DrawQuota(t.Context(), at, []cluster.Draw{{Credential: "k", Agent: agent, PerMinute: perMinute, Want: want}})
			if err != nil || len(got) != 1 || got[0].Took != took {
				t.Fatalf("drew %+v, %v; want %d calls", got, err, took)
			}
			if in := got[0].Next.Sub(at); in != next {
				t.Errorf("the next one is there in %s, want %s", in, next)
			}
		}
		draw("a", 60, 1, 1, 0)
		draw("a", 60, 10, 10, 0)
		draw("a", 60, 100, 49, time.Second)
		draw("a", 60, 1, 0, time.Second)
		draw("b", 60, 100, 60, time.Second) // a bucket of its own
		at = start.Add(999 * time.Millisecond)
		draw("a", 60, 1, 0, time.Millisecond)
		at = start.Add(time.Second)
		draw("a", 60, 5, 1, time.Second)
		at = start.Add(-10 * time.Second) // a replica whose clock is behind
		draw("a", 60, 5, 0, 12*time.Second)
		at = start.Add(31 * time.Second)
		draw("a", 120, 100, 60, 500*time.Millisecond) // half full is half of any quota
		at = start.Add(2 * time.Minute)
		draw("a", 60, 100, 60, time.Second)
		draw("c", cluster.MaxPerMinute, 2*cluster.MaxPerMinute, cluster.MaxPerMinute, time.Microsecond)
		at = at.Add(30 * time.Second)
		draw("c", cluster.MaxPerMinute, 2*cluster.MaxPerMinute, cluster.MaxPerMinute/2, time.Microsecond)
		if err := db.Cluster.Prune(t.Context(), at.Add(time.Minute+time.Second)); err != nil {
			t.Fatal(err)
		}
		var rows int
		if err := db.QueryRowContext(t.Context(), "SELECT count(*) FROM quotas").Scan(&rows); err != nil || rows != 0 {
			t.Errorf("%d full buckets are kept, %v", rows, err)
		}
	})
}

func TestQuotasAreDrawnTogether(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.Store) {
		draws := []cluster.Draw{
			{Credential: "k", Agent: "a", PerMinute: 60, Want: 3},
			{Credential: "k", Agent: "b", PerMinute: 6000, Want: 70},
			{Credential: "l", Agent: "a", PerMinute: 1, Want: 5},
		}
		want := map[string]int64{"ka": 3, "kb": 70, "la": 1}
		for range 2 {
			got, err := db.Cluster.DrawQuota(t.Context(), database.Now(), draws)
			if err != nil || len(got) != len(draws) {
				t.Fatalf("%+v, %v", got, err)
			}
			for _, d := range got {
				if d.Took != want[d.Credential+d.Agent] {
					t.Errorf("%+v, want %d", d, want[d.Credential+d.Agent])
				}
			}
			want["la"] = 0
		}
	})
}
