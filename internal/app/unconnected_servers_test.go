package app

import (
	"testing"
	"time"

	"github.com/beeos/beeos/internal/store/cluster"
)

// TestWhoIsApart counts servers that go on and are not heard on the bus, and no
// others.
func TestWhoIsApart(t *testing.T) {
	start := time.Now()
	for name, c := range map[string]struct {
		alive map[string]int // of others, until which second they give signs of life
		heard func(second int) int
		want  int
	}{
		"alone":                {nil, nil, 0},
		"all are heard":        {map[string]int{"a": 99, "b": 99}, func(int) int { return 2 }, 0},
		"one is not":           {map[string]int{"a": 99, "b": 99}, func(int) int { return 1 }, 1},
		"nobody is":            {map[string]int{"a": 99, "b": 99}, func(int) int { return 0 }, 2},
		"one was killed":       {map[string]int{"a": 5, "b": 99}, func(s int) int { return 2 - s/6%2 }, 0},
		"one has long died":    {map[string]int{"a": -10, "b": 99}, func(int) int { return 1 }, 0},
		"one starts slowly":    {map[string]int{"a": 99}, func(s int) int { return min(1, s/6) }, 0},
		"one answers at times": {map[string]int{"a": 99, "b": 99}, func(s int) int { return 1 + s/3%2 }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			var a apart
			got := 0
			for second := 0; second <= 30; second += 3 {
				now := start.Add(time.Duration(second) * time.Second)
				nodes := []cluster.Node{{ID: "self", SeenAt: now}}
				for id, until := range c.alive {
					seen := start.Add(time.Duration(min(second, until)) * time.Second)
					if now.Sub(seen) < nodeDead {
						nodes = append(nodes, cluster.Node{ID: id, SeenAt: seen})
					}
				}
				got = a.count(nodes, "self", now, func(others int) int { return min(others, c.heard(second)) })
				a.servers.Store(int64(got))
			}
			if got != c.want {
				t.Errorf("%d are apart, want %d", got, c.want)
			}
		})
	}
}
