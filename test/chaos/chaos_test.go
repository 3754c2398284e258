//go:build unix

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/beeos/beeos/test/chaos/history"
	"github.com/beeos/beeos/test/chaos/world"

	// The program under test is built beside this binary. Importing it as well
	// tells go test that yesterday's result is none of today's program.
	_ "github.com/beeos/beeos/internal/cli"
)

func TestMain(m *testing.M) {
	if ran, err := world.Run(); ran {
		if err != nil {
			os.Stderr.WriteString(err.Error() + "\n")
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// runs are from which seeds each campaign is run: one with which much is broken in
// little time, and each that ever showed something that did not hold. The campaign
// about clocks is not among them: its server takes minutes to build.
var runs = map[string][]uint64{
	"sqlite": {5967}, "mesh": {11496}, "failover": {1601}, "partition": {144}, "nats": {7174}, "disk": {2639},
}

// shortly is how long each of them breaks things.
const shortly = 10 * time.Second

// TestCampaigns runs each campaign for a short while: nothing that was promised
// is lost, done twice or late. They wait more than they compute, so three at a time.
func TestCampaigns(t *testing.T) {
	binary, err := build(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	var some errgroup.Group
	some.SetLimit(3)
	for _, c := range campaigns {
		if err := c.leftOut(); err != nil {
			t.Logf("%s is left out: %s", c.name, err)
			continue
		}
		for _, seed := range runs[c.name] {
			some.Go(func() error {
				t.Run(fmt.Sprint(c.name, " ", seed), func(t *testing.T) { testCampaign(t, c, binary, seed) })
				return nil
			})
		}
	}
	some.Wait() //nolint:errcheck // each says for itself what is wrong
}

func testCampaign(t *testing.T, c campaign, binary string, seed uint64) {
	r, err := c.run(t.Context(), t.TempDir(), binary, seed, shortly, 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Log(r.line())
	if !r.Clean() {
		t.Errorf("go run ./test/chaos -seed %d -minutes %.3f -callers 1 %s\n%s", seed, shortly.Minutes(), c.name, r.Problems(20))
	}
	if sum(r.Ops) < 100 || sum(r.Faults) < 3 {
		t.Errorf("%d operations and %d faults show nothing", sum(r.Ops), sum(r.Faults))
	}
}

// TestReport: the document has each campaign's figures, each kind of fault, and what
// was left out.
func TestReport(t *testing.T) {
	path := filepath.Join(t.TempDir(), "page.md")
	if err := os.WriteFile(path, []byte("before\n"+reportBegins+"old\n"+reportEnds+"\nafter\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	results := []*result{
		{campaigns[0], 7, 2 * time.Minute, &history.Verdict{
			Ops: map[history.Kind]int{history.Invoke: 12, history.MCP: 30}, Outcomes: map[history.Outcome]int{history.OK: 42},
			Faults: map[string]int{"server: kill -9": 2}, Heal: map[string][]time.Duration{"server: kill -9": {3 * time.Second, time.Second}},
			LongestSilence: 4 * time.Second, Lost: []string{"a"}, Hung: []string{"b", "c"},
		}},
		{campaigns[1], 7, time.Minute, &history.Verdict{Faults: map[string]int{"server: kill -9": 1, "agent: kill -9": 5}}},
	}
	if err := writeReport(path, results, []string{"a disk (no room)"}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"before\n" + reportBegins, reportEnds + "\nafter\n",
		"| `sqlite` | one server on SQLite; seed 7, 2m0s | 42 | 2 | 1 | 0 | 2 | 0 | 4s | 1s | 3s |\n",
		"Operations: 30 mcp, 12 rest. How they ended for whoever asked: 42 ok.\n",
		"| fault | `sqlite` | `mesh` | healed, half | all |\n|---|---:|---:|---:|---:|\n| agent: kill -9 | 0 | 5 | 0s | 0s |\n| server: kill -9 | 2 | 1 | 1s | 3s |\n",
		"Left out: a disk (no room).\n",
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("there is no %q in\n%s", want, text)
		}
	}
}

// TestBlowsConcern: what is broken already is not broken in another way as well.
func TestBlowsConcern(t *testing.T) {
	for _, c := range []struct {
		one, other string
		want       bool
	}{
		{"node 1", "node 1", true},
		{"node 1", "node 2", false},
		{"NATS 1", "NATS 3 and NATS 1", true},
		{"NATS 1 and NATS 2", "NATS 2 and NATS 3", true},
		{"NATS 1", "NATS 2 and NATS 3", false},
	} {
		if got := (&blow{target: c.one}).concerns(&blow{target: c.other}); got != c.want {
			t.Errorf("%s and %s: %t", c.one, c.other, got)
		}
	}
}

// TestPlanTriesAll: no fault comes again before each has come.
func TestPlanTriesAll(t *testing.T) {
	for _, c := range campaigns {
		var names []string
		for _, s := range plan(7, c.faults, 10*time.Minute) {
			if names = append(names, s.fault.name); s.also != nil {
				names = append(names, s.also.fault.name)
			}
		}
		for i := 0; i+len(c.faults) <= len(names); i += len(c.faults) {
			for _, f := range c.faults {
				if !slices.Contains(names[i:i+len(c.faults)], f.name) {
					t.Errorf("%s: %q is not among %q", c.name, f.name, names[i:i+len(c.faults)])
				}
			}
		}
	}
}

// TestPlanRepeats: a seed breaks the same things at the same moments.
func TestPlanRepeats(t *testing.T) {
	for _, c := range campaigns {
		one, same, other := plan(7, c.faults, time.Minute), plan(7, c.faults, time.Minute), plan(8, c.faults, time.Minute)
		if len(one) < 5 || len(one) != len(same) {
			t.Fatalf("%s: %d and %d faults", c.name, len(one), len(same))
		}
		differs := len(one) != len(other)
		for i := range one {
			if one[i].fault.name != same[i].fault.name || one[i].after != same[i].after || one[i].lasts != same[i].lasts || one[i].seed != same[i].seed || (one[i].also == nil) != (same[i].also == nil) {
				t.Errorf("%s: fault %d is %+v, and %+v", c.name, i, one[i], same[i])
			}
			differs = differs || one[i].seed != other[i].seed
		}
		if !differs {
			t.Errorf("%s: another seed breaks the same", c.name)
		}
	}
}
