package calls_test

import (
	"flag"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/beeos/beeos/internal/store"
	"github.com/beeos/beeos/internal/store/calls"
	"github.com/beeos/beeos/test/pgtest"
)

var stored = flag.Int("stored", 20_000, "BenchmarkFind: how many calls there are")

// BenchmarkFind looks for a page of 50 among many calls, by each filter that the
// explorer has, the common pairs of them, and by what next to no call has.
func BenchmarkFind(b *testing.B) {
	for name, dsn := range map[string]func() string{
		"sqlite":   func() string { return "sqlite:" + filepath.Join(b.TempDir(), "beeos.db") },
		"postgres": func() string { return pgtest.URL(b) },
	} {
		db, err := store.Open(b.Context(), dsn())
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { db.Close() })
		all := fill(b, db, *stored, mixed)
		middle := all[len(all)/2]
		for _, f := range []struct {
			name string
			calls.Filter
		}{
			{"all", calls.Filter{}},
			{"agent", calls.Filter{AgentIDs: []string{"agent_1"}}},
			{"rare-agent", calls.Filter{AgentIDs: []string{"agent_rare"}}},
			{"absent-agent", calls.Filter{AgentIDs: []string{"agent_x"}}},
			{"caller", calls.Filter{Callers: []string{"user:3"}}},
			{"surface", calls.Filter{Surface: "web"}},
			{"rare-surface", calls.Filter{Surface: "a2a"}},
			{"tool", calls.Filter{Tool: "find"}},
			{"ok", calls.Filter{Outcomes: []calls.Outcome{calls.OK}}},
			{"failed", calls.Filter{Outcomes: []calls.Outcome{calls.Failed}}},
			{"slower-100ms", calls.Filter{Slower: 100 * time.Millisecond}},
			{"slower-1s", calls.Filter{Slower: time.Second}},
			{"slower-30s", calls.Filter{Slower: 30 * time.Second}},
			{"slower-5min", calls.Filter{Slower: 5 * time.Minute}},
			{"until-the-middle", calls.Filter{Until: middle.Began}},
			{"page-in-the-middle", calls.Filter{Before: middle.Turn}},
			{"agent,page-in-the-middle", calls.Filter{Before: middle.Turn, AgentIDs: []string{"agent_1"}}},
			{"agent,ok", calls.Filter{AgentIDs: []string{"agent_1"}, Outcomes: []calls.Outcome{calls.OK}}},
			{"agent,failed", calls.Filter{AgentIDs: []string{"agent_1"}, Outcomes: []calls.Outcome{calls.Failed, calls.TimedOut, calls.Lost}}},
			{"rare-agent,failed", calls.Filter{AgentIDs: []string{"agent_rare"}, Outcomes: []calls.Outcome{calls.Failed}}},
			{"agent,slower-1s", calls.Filter{AgentIDs: []string{"agent_0"}, Slower: time.Second}},
			{"agent,tool", calls.Filter{AgentIDs: []string{"agent_2"}, Tool: "add"}},
			{"agent,caller", calls.Filter{AgentIDs: []string{"agent_2"}, Callers: []string{"user:1"}}},
			{"caller,surface", calls.Filter{Callers: []string{"user:1"}, Surface: "mcp"}},
			{"failed,slower-1s", calls.Filter{Outcomes: []calls.Outcome{calls.Failed}, Slower: time.Second}},
		} {
			f.Limit = 50
			b.Run(name+"/"+f.name, func(b *testing.B) {
				var took []time.Duration
				for b.Loop() {
					began := time.Now()
					if _, err := db.Calls.Find(b.Context(), f.Filter); err != nil {
						b.Fatal(err)
					}
					took = append(took, time.Since(began))
				}
				slices.Sort(took)
				b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
			})
		}
	}
}
