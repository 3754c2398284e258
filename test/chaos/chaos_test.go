//go:build unix

package main

import (
	"fmt"
	"os"
	"testing"
	"time"

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

// seeds are what the campaigns are run from: one, and each that ever showed
// something that did not hold.
var seeds = []uint64{1}

// TestCampaigns runs each campaign for a short while: nothing that was promised
// is lost, done twice or late.
func TestCampaigns(t *testing.T) {
	binary, err := build(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range campaigns {
		for _, seed := range seeds {
			t.Run(fmt.Sprint(c.name, " ", seed), func(t *testing.T) { testCampaign(t, c, binary, seed) })
		}
	}
}

func testCampaign(t *testing.T, c campaign, binary string, seed uint64) {
	r, err := c.run(t.Context(), t.TempDir(), binary, seed, 25*time.Second, 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Log(r.line())
	if !r.Clean() {
		t.Errorf("go run ./test/chaos -seed %d -minutes 0.42 -callers 1 %s\n%s", seed, c.name, r.Problems(20))
	}
	if sum(r.Ops) < 100 || sum(r.Faults) < 3 {
		t.Errorf("%d operations and %d faults show nothing", sum(r.Ops), sum(r.Faults))
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
