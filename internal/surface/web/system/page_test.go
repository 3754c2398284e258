package system

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/beeos/beeos/internal/access/act"
	"github.com/beeos/beeos/internal/store"
	"github.com/beeos/beeos/internal/store/cluster"
	"github.com/beeos/beeos/test/pagetest"
)

func TestPageRendersEmptyOneAndMany(t *testing.T) {
	now := time.Now()
	pagetest.RenderAll(t, pagetest.NewServer(t, templates), templates, func(n int) map[string]any {
		return map[string]any{"system": newData(&act.System{
			Version: "1", Database: store.Size{Kind: "SQLite", Version: "3 <b>", Bytes: 1 << 30},
			Server: act.Server{Node: "node-0000000", Free: uint64(n), Total: 100, Settings: pagetest.Repeat(n, func(i int) act.Setting {
				return act.Setting{Name: fmt.Sprint("BEEOS_", i), Value: "<b>", Origin: []string{"default", "env X"}[i%2]}
			})},
			Nodes: pagetest.Repeat(n, func(i int) cluster.Node {
				return cluster.Node{ID: fmt.Sprintf("node-%07d", i), SeenAt: now.Add(-time.Duration(i) * time.Minute)}
			}),
		}, now)}
	}, map[string]string{"system": "data-setting="})
}

// TestTroubleIsSaid: a full disk, a server that went away without a word, a bus
// that is down and servers that do not share it are said first.
func TestTroubleIsSaid(t *testing.T) {
	now := time.Now()
	s := act.System{Server: act.Server{Node: "here", Free: 50, Total: 100}, Nodes: []cluster.Node{{ID: "here", SeenAt: now}}}
	if d := newData(&s, now); d.Trouble != nil || !d.Nodes[0].Here {
		t.Errorf("all is well: %+v", d)
	}
	s.Server.Free, s.Server.Apart, s.BusTrouble = 5, 2, "not connected to NATS; check NATS_URL"
	s.Nodes = append(s.Nodes, cluster.Node{ID: "another-12345678", SeenAt: now.Add(-5 * time.Minute)})
	said := strings.Join(newData(&s, now).Trouble, "\n")
	for _, want := range []string{"nearly full", "check NATS_URL.", "12345678 was last seen 5 min ago", "do not share this one's bus: 2."} {
		if !strings.Contains(said, want) {
			t.Errorf("%q is not in %s", want, said)
		}
	}
}

func TestSizes(t *testing.T) {
	for n, want := range map[uint64]string{0: "0 B", 1023: "1023 B", 1536: "1.5 KiB", 10 << 20: "10 MiB", 3 << 40: "3.0 TiB", 1<<64 - 1: "16 EiB"} {
		if got := formatBytes(n); got != want {
			t.Errorf("%d is %s, not %s", n, got, want)
		}
	}
}
