package calls_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store"
	"github.com/beeos/beeos/internal/store/calls"
	"github.com/beeos/beeos/test/manycalls"
	"github.com/beeos/beeos/test/pgtest"
)

// engines runs f on each database.
func engines(t *testing.T, f func(t *testing.T, db *store.Store)) {
	for name, dsn := range map[string]func() string{
		"sqlite":   func() string { return "sqlite:" + filepath.Join(t.TempDir(), "beeos.db") },
		"postgres": func() string { return pgtest.URL(t) },
	} {
		t.Run(name, func(t *testing.T) {
			db, err := store.Open(t.Context(), dsn())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { db.Close() })
			f(t, db)
		})
	}
}

// fill writes calls, one every millisecond, and returns them, the oldest first.
func fill(t testing.TB, db *store.Store, n int, of func(i int) (calls.Route, calls.Outcome, time.Duration)) (all []calls.Call) {
	t.Helper()
	begun := time.Now().Add(-time.Hour)
	for i := range n {
		r, outcome, took := of(i)
		id := beeos.IDFloor(begun.Add(time.Duration(i) * time.Millisecond))
		id = id[:14] + "7" + id[15:19] + "8" + id[20:28] + fmt.Sprintf("%08x", rand.Uint32())
		all = append(all, calls.Call{Turn: id, Route: r, Outcome: outcome, Took: took, Began: beeos.IDTime(id)})
	}
	if err := manycalls.Fill(t.Context(), db, slices.Values(all)); err != nil {
		t.Fatal(err)
	}
	return all
}

// mixed is a load of a few agents, callers, surfaces and tools, with few failures
// and few slow calls; agent_rare is called every thousandth time.
func mixed(i int) (calls.Route, calls.Outcome, time.Duration) {
	r := calls.Route{
		AgentID: fmt.Sprint("agent_", i%3), Caller: fmt.Sprint("user:", i%7), Surface: []string{"mcp", "rest", "web"}[i%11%3], Tool: []string{"", "add", "find"}[i%5%3],
	}
	if i%1000 == 500 {
		r.AgentID, r.Surface = "agent_rare", "a2a"
	}
	outcome, took := calls.OK, time.Duration(i%100)*time.Millisecond
	if i%50 == 7 {
		outcome = calls.Outcome(1 + i%6)
	}
	if i%200 == 9 {
		took = 5 * time.Second
	}
	if i%2000 == 99 || i%2000 == 107 { // the second goes wrong, too
		took = time.Minute
	}
	return r, outcome, took
}

// TestFind compares what is found with what a walk through all calls finds: among
// the newest of all, and by routes.
func TestFind(t *testing.T) {
	engines(t, func(t *testing.T, db *store.Store) {
		all := fill(t, db, 6000, mixed)
		for _, look := range []int{2000, 10} {
			calls.SetGlance(t, look)
			testFind(t, db, all)
		}
		names, err := db.Calls.Names(t.Context(), []string{"agent_0", "agent_rare"})
		if err != nil || !slices.Equal(names.Surfaces, []string{"a2a", "mcp", "rest", "web"}) || !slices.Equal(names.Tools, []string{"add", "find"}) || len(names.Callers) != 7 {
			t.Errorf("%+v, %v", names, err)
		}
	})
}

// TestFindAmongFailures: of an agent nearly all of whose calls fail, the few that do
// not are found, all of them, page after page.
func TestFindAmongFailures(t *testing.T) {
	engines(t, func(t *testing.T, db *store.Store) {
		all := fill(t, db, 5000, func(i int) (calls.Route, calls.Outcome, time.Duration) {
			r, outcome, took := mixed(i)
			if r.AgentID == "agent_0" || i%7 > 0 {
				outcome = calls.Failed
			}
			switch i % 120 {
			case 0:
				outcome = calls.OK
			case 3:
				outcome = calls.TimedOut
			case 6:
				outcome, took = calls.Working, 0
			}
			return r, outcome, took
		})
		fine := []calls.Outcome{calls.OK}
		compare(t, db, all, map[string]calls.Filter{
			"ok, of an agent":            {Outcomes: fine, AgentIDs: []string{"agent_0"}},
			"ok or late, of an agent":    {Outcomes: []calls.Outcome{calls.TimedOut, calls.OK}, AgentIDs: []string{"agent_0", "agent_rare"}},
			"a page of it":               {Outcomes: fine, AgentIDs: []string{"agent_0"}, Before: all[2500].Turn},
			"ok, of all":                 {Outcomes: fine},
			"ok, in a while":             {Outcomes: fine, AgentIDs: []string{"agent_0"}, Since: all[1000].Began, Until: all[1700].Began},
			"ok, of a caller and a tool": {Outcomes: fine, AgentIDs: []string{"agent_0"}, Callers: []string{"user:3"}, Tool: "add"},
		})
	})
}

// TestNamesOfManyRoutes: whoever called last is named, and so is who has called an
// agent that hardly anybody calls.
func TestNamesOfManyRoutes(t *testing.T) {
	engines(t, func(t *testing.T, db *store.Store) {
		all := fill(t, db, 3000, func(i int) (calls.Route, calls.Outcome, time.Duration) {
			r, outcome, took := mixed(i)
			r.Caller = fmt.Sprint("user:", i)
			return r, outcome, took
		})
		names, err := db.Calls.Names(t.Context(), nil)
		if err != nil || len(names.Callers) < 1000 || len(names.Callers) > 1500 || !slices.Equal(names.Surfaces, []string{"a2a", "mcp", "rest", "web"}) {
			t.Fatalf("%d callers, %q, %v", len(names.Callers), names.Surfaces, err)
		}
		for i, c := range all[len(all)-1000:] {
			if want := names.Callers[999-i]; want != c.Route.Caller {
				t.Fatalf("%s is where %s should be", want, c.Route.Caller)
			}
		}
		if names, err := db.Calls.Names(t.Context(), []string{"agent_rare"}); err != nil || !slices.Equal(names.Callers, []string{"user:2500", "user:1500", "user:500"}) {
			t.Errorf("of an agent that hardly anybody calls: %v, %v", names, err)
		}
	})
}

func testFind(t *testing.T, db *store.Store, all []calls.Call) {
	t.Helper()
	middle := all[3000]
	compare(t, db, all, map[string]calls.Filter{
		"all":                  {},
		"an agent":             {AgentIDs: []string{"agent_1"}},
		"two agents":           {AgentIDs: []string{"agent_1", "agent_2"}},
		"no agents":            {AgentIDs: []string{}},
		"an unknown agent":     {AgentIDs: []string{"agent_x"}},
		"a rare agent":         {AgentIDs: []string{"agent_rare"}},
		"a caller":             {Callers: []string{"user:3"}},
		"a surface":            {Surface: "web"},
		"a rare surface":       {Surface: "a2a"},
		"a tool":               {Tool: "find"},
		"failed":               {Outcomes: []calls.Outcome{calls.Failed}},
		"failed or ok":         {Outcomes: []calls.Outcome{calls.Failed, calls.OK}},
		"any problem":          {Outcomes: calls.Problems()},
		"problems, rare agent": {Outcomes: calls.Problems(), AgentIDs: []string{"agent_rare"}},
		"failed and slow":      {Outcomes: []calls.Outcome{calls.Failed, calls.TimedOut}, Slower: 30 * time.Second},
		"ok and slow":          {Outcomes: []calls.Outcome{calls.OK}, Slower: 30 * time.Second, Surface: "web"},
		"slower than any":      {Slower: time.Hour},
		"failed, of an agent":  {Outcomes: []calls.Outcome{calls.Failed, calls.TimedOut}, AgentIDs: []string{"agent_1"}},
		"slow":                 {Slower: time.Second},
		"very slow":            {Slower: 30 * time.Second},
		"a little slow":        {Slower: 90 * time.Millisecond},
		"slow, of an agent":    {Slower: time.Second, AgentIDs: []string{"agent_0"}},
		"agent and tool":       {AgentIDs: []string{"agent_2"}, Tool: "add"},
		"caller and surface":   {Callers: []string{"user:1"}, Surface: "mcp"},
		"until":                {Until: middle.Began},
		"since":                {Since: all[5990].Began},
		"a page":               {Before: middle.Turn},
		"a page of an agent":   {Before: middle.Turn, AgentIDs: []string{"agent_1"}},
		"a page of a rare one": {Before: middle.Turn, AgentIDs: []string{"agent_rare"}},
	})
}

// compare finds by each filter what a walk through all calls finds.
func compare(t *testing.T, db *store.Store, all []calls.Call, filters map[string]calls.Filter) {
	t.Helper()
	for name, f := range filters {
		f.Limit = 20
		var want []string
		for _, c := range slices.Backward(all) {
			if len(want) < f.Limit && f.Picks(c.Route, c.Began, c.Took) && (f.Outcomes == nil || slices.Contains(f.Outcomes, c.Outcome)) &&
				(f.Before == "" || c.Turn < f.Before) {
				want = append(want, fmt.Sprint(c))
			}
		}
		found, err := db.Calls.Find(t.Context(), f)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var got []string
		for _, c := range found {
			got = append(got, fmt.Sprint(c))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %d found, %d wanted\n%v\n%v", name, len(got), len(want), got[:min(2, len(got))], want[:min(2, len(want))])
		}
	}
}

func TestKeysFollowTime(t *testing.T) {
	last := int64(0)
	for range 10_000 {
		id := beeos.NewID()
		n := calls.Key(id)
		if n <= last {
			t.Fatalf("%s has %d, the one before %d", id, n, last)
		}
		last = n
	}
	now := time.Now()
	if id := beeos.NewID(); calls.Key(id) < calls.KeyOf(now) || calls.Key(id) >= calls.KeyOf(now.Add(time.Minute)) {
		t.Error("a key does not lie within its minute")
	}
	for _, odd := range []string{"", "t1", "ch-1", "zzzzzzzz-zzzz-7zzz-8zzz-zzzzzzzzzzzz"} {
		if calls.Key(odd) < 0 {
			t.Errorf("%q has a negative key", odd)
		}
	}
}

func TestOutcomesHaveNames(t *testing.T) {
	for _, name := range calls.Outcomes() {
		if o, err := calls.ParseOutcome(name); err != nil || o.String() != name {
			t.Errorf("%s is %v, %v", name, o, err)
		}
	}
	if _, err := calls.ParseOutcome("good"); beeos.CodeOf(err) != beeos.InvalidParam {
		t.Error(err)
	}
}
