package calls_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/beeos/beeos/internal/engine/ledger"
	"github.com/beeos/beeos/internal/store"
	"github.com/beeos/beeos/internal/store/calls"
	"github.com/beeos/beeos/internal/store/database"
	"github.com/beeos/beeos/test/enginetest"
	"github.com/beeos/beeos/test/manycalls"
	"github.com/beeos/beeos/test/pgtest"
)

var (
	stored = flag.Int("stored", 20_000, "BenchmarkFind: how many calls there are")
	within = flag.String("within", "", "BenchmarkFind: URLs of databases that are filled unless they are, with commas; empty = new ones")
)

// BenchmarkFind looks for a page of 50 among the calls of a month, by each filter
// that the explorer has, by the common pairs of them, and by what next to no call
// or none has. Names are what its page reads besides. Calls under way are read off
// the deliveries, by the ledger.
//
//	go test ./internal/store/calls -run ^$ -bench Find -stored 1000000 -benchtime 300x
func BenchmarkFind(b *testing.B) {
	urls := strings.Split(*within, ",")
	if *within == "" {
		urls = []string{"sqlite:" + filepath.Join(b.TempDir(), "beeos.db"), pgtest.URL(b)}
	}
	for _, url := range urls {
		db := monthIn(b, url)
		engine := map[bool]string{true: "postgres/", false: "sqlite/"}[db.Postgres]
		requests := ledgerOn(b, url)
		for _, who := range []struct {
			name   string
			agents []string
		}{{"all/", nil}, {"owner-of-250/", manycalls.Lot}, {"owner-of-3/", manycalls.Few}} {
			b.Run(engine+who.name+"names", func(b *testing.B) {
				report(b, db, func() error { _, err := db.Calls.Names(b.Context(), who.agents); return err })
			})
			b.Run(engine+who.name+"working", func(b *testing.B) {
				open := ledger.RequestFilter{AgentIDs: who.agents, Open: true, Limit: 51}
				report(b, db, func() error { _, err := requests.Requests(b.Context(), open); return err })
			})
			for _, f := range filters(b, db, who.agents) {
				b.Run(engine+who.name+f.name, func(b *testing.B) {
					report(b, db, func() error { _, err := db.Calls.Find(b.Context(), f.Filter); return err })
				})
			}
		}
		for _, f := range agentFilters() {
			b.Run(engine+f.name, func(b *testing.B) {
				report(b, db, func() error { _, err := db.Calls.Find(b.Context(), f.Filter); return err })
			})
		}
	}
}

// monthIn opens a database with a month of calls.
func monthIn(b *testing.B, url string) *store.Store {
	b.Helper()
	db, err := store.Open(b.Context(), url)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { db.Close() })
	if n, err := database.GetValue[int](b.Context(), db, "count", `SELECT count(*) FROM routes`); err != nil || n > 0 {
		return db
	}
	began := time.Now()
	if err := manycalls.Fill(b.Context(), db, manycalls.Month(*stored, time.Now())); err != nil {
		b.Fatal(err)
	}
	b.Logf("filled in %s", time.Since(began).Round(time.Second))
	return db
}

// ledgerOn opens a ledger that has connections of its own: one of them it keeps, and
// those that are measured are bounded.
func ledgerOn(b *testing.B, url string) *ledger.Ledger {
	b.Helper()
	db, err := store.Open(b.Context(), url)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { db.Close() })
	_, l := enginetest.OpenOn(b, db)
	return l
}

// report runs f and tells how long it took, and how much of that was work of this
// process and of PostgreSQL's: on a busy machine the rest is waiting for others.
func report(b *testing.B, db *store.Store, f func() error) {
	b.Helper()
	work := workOf(b, db)
	var took, worked []time.Duration
	for b.Loop() {
		before, began := work(), time.Now()
		if err := f(); err != nil {
			b.Fatal(err)
		}
		took = append(took, time.Since(began))
		worked = append(worked, work()-before)
	}
	for unit, list := range map[string][]time.Duration{"": took, "cpu-": worked} {
		slices.Sort(list)
		b.ReportMetric(float64(list[len(list)/2].Microseconds())/1000, "p50-"+unit+"ms")
		b.ReportMetric(float64(list[len(list)*99/100].Microseconds())/1000, "p99-"+unit+"ms")
	}
}

// workOf reads how much processor time was used so far, here and by the one
// connection to PostgreSQL.
func workOf(b *testing.B, db *store.Store) func() time.Duration {
	b.Helper()
	schedule := ""
	if db.Postgres {
		db.SetMaxOpenConns(1)
		pid, err := database.GetValue[int](b.Context(), db, "ask PostgreSQL for its process", `SELECT pg_backend_pid()`)
		if err != nil {
			b.Fatal(err)
		}
		schedule = fmt.Sprintf("/proc/%d/schedstat", pid)
	}
	return func() (sum time.Duration) {
		var used syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
			b.Fatal(err)
		}
		sum = time.Duration(used.Utime.Nano() + used.Stime.Nano())
		if schedule != "" {
			text, err := os.ReadFile(schedule)
			first, _, _ := strings.Cut(string(text), " ")
			ns, parsed := strconv.ParseInt(first, 10, 64)
			if err != nil || parsed != nil {
				b.Fatal(err, parsed)
			}
			sum += time.Duration(ns)
		}
		return sum
	}
}

var (
	failed   = []calls.Outcome{calls.Failed}
	problems = calls.Problems()
)

type namedFilter struct {
	name string
	calls.Filter
}

// filters are those that somebody asks who sees the calls of some agents; nil = of
// all.
func filters(b *testing.B, db *store.Store, agents []string) (list []namedFilter) {
	b.Helper()
	add := func(name string, f calls.Filter) {
		if f.AgentIDs == nil {
			f.AgentIDs = agents
		}
		f.Limit = 51
		list = append(list, namedFilter{name, f})
	}
	newest := found(b, db, calls.Filter{AgentIDs: agents, Limit: 1})[0].Began
	day, past := newest.Add(-24*time.Hour), newest.Add(-20*24*time.Hour)
	add("no-filter", calls.Filter{})
	add("page-2", calls.Filter{Before: last(found(b, db, calls.Filter{AgentIDs: agents, Limit: 50})).Turn})
	add("page-50", calls.Filter{Before: last(found(b, db, calls.Filter{AgentIDs: agents, Limit: 50 * 50})).Turn})
	add("caller", calls.Filter{Callers: []string{manycalls.Caller(3)}})
	add("caller-quiet", calls.Filter{Callers: []string{manycalls.Caller(2900)}})
	add("tool", calls.Filter{Tool: manycalls.Tool(1)})
	add("tool-1-in-10000", calls.Filter{Tool: manycalls.RareTool})
	add("tool-none", calls.Filter{Tool: "none"})
	add("surface", calls.Filter{Surface: "rest"})
	add("surface-1-in-500", calls.Filter{Surface: "agent"})
	add("surface-none", calls.Filter{Surface: "none"})
	add("ok", calls.Filter{Outcomes: []calls.Outcome{calls.OK}})
	add("failed", calls.Filter{Outcomes: failed})
	for _, o := range []calls.Outcome{calls.Refused, calls.Busy, calls.Canceled, calls.TimedOut, calls.Lost} {
		add(strings.ReplaceAll(o.String(), "_", "-"), calls.Filter{Outcomes: []calls.Outcome{o}})
	}
	add("problems", calls.Filter{Outcomes: problems})
	add("last-day", calls.Filter{Since: day})
	add("one-day-past", calls.Filter{Since: past, Until: past.Add(24 * time.Hour)})
	add("time-none", calls.Filter{Since: newest.Add(time.Hour)})
	for _, slower := range []time.Duration{100 * time.Millisecond, time.Second, 10 * time.Second, time.Minute, 4 * time.Minute, time.Hour} {
		add("slower-"+slower.String(), calls.Filter{Slower: slower})
	}
	for _, by := range []struct {
		name string
		calls.Filter
	}{
		{"caller", calls.Filter{Callers: []string{manycalls.Caller(3)}}},
		{"caller-quiet", calls.Filter{Callers: []string{manycalls.Caller(2900)}}},
		{"tool", calls.Filter{Tool: manycalls.Tool(1)}},
		{"surface", calls.Filter{Surface: "rest"}},
	} {
		for _, o := range []calls.Outcome{calls.OK, calls.Failed, calls.TimedOut} {
			by.Outcomes = []calls.Outcome{o}
			add(by.name+","+o.String(), by.Filter)
		}
		by.Outcomes = problems
		add(by.name+",problems", by.Filter)
	}
	add("failed,last-day", calls.Filter{Outcomes: failed, Since: day})
	add("problems,one-day-past", calls.Filter{Outcomes: problems, Since: past, Until: past.Add(24 * time.Hour)})
	add("caller,last-day", calls.Filter{Callers: []string{manycalls.Caller(3)}, Since: day})
	add("caller,one-day-past", calls.Filter{Callers: []string{manycalls.Caller(30)}, Since: past, Until: past.Add(24 * time.Hour)})
	add("failed,slower-1s", calls.Filter{Outcomes: failed, Slower: time.Second})
	add("problems,slower-1m0s", calls.Filter{Outcomes: problems, Slower: time.Minute})
	add("caller-1-in-a-million", calls.Filter{Callers: []string{manycalls.OnceCaller}})
	add("tool-1-in-a-million", calls.Filter{Tool: manycalls.OnceTool})
	add("slower-1-in-a-million", calls.Filter{Slower: 20 * time.Minute})
	return list
}

// agentFilters are those that somebody asks who looks at one agent, busy or not.
func agentFilters() (list []namedFilter) {
	day, past := time.Now().Add(-24*time.Hour), time.Now().Add(-20*24*time.Hour)
	for _, a := range []struct{ name, id string }{
		{"agent-busiest", manycalls.Agent(0)},
		{"agent-usual", manycalls.Agent(40)},
		{"agent-quiet", manycalls.Agent(290)},
		{"agent-1-in-10000", manycalls.RareAgent},
		{"agent-of-the-past", manycalls.PastAgent},
		{"agent-failing", manycalls.FailingAgent},
		{"agent-1-in-a-million", manycalls.OnceAgent},
		{"agent-none", "agent_x"},
	} {
		with := func(name string, f calls.Filter) {
			f.AgentIDs, f.Limit = []string{a.id}, 51
			list = append(list, namedFilter{a.name + "/" + name, f})
		}
		with("no-filter", calls.Filter{})
		with("ok", calls.Filter{Outcomes: []calls.Outcome{calls.OK}})
		with("failed", calls.Filter{Outcomes: failed})
		with("problems", calls.Filter{Outcomes: problems})
		with("caller", calls.Filter{Callers: []string{manycalls.Caller(3)}})
		with("caller-quiet", calls.Filter{Callers: []string{manycalls.Caller(2900)}})
		with("surface", calls.Filter{Surface: "rest"})
		with("last-day", calls.Filter{Since: day})
		with("one-day-past", calls.Filter{Since: past, Until: past.Add(24 * time.Hour)})
		with("tool", calls.Filter{Tool: manycalls.Tool(1)})
		with("slower-1s", calls.Filter{Slower: time.Second})
		with("slower-1m0s", calls.Filter{Slower: time.Minute})
	}
	return list
}

func found(b *testing.B, db *store.Store, f calls.Filter) []calls.Call {
	b.Helper()
	list, err := db.Calls.Find(b.Context(), f)
	if err != nil || len(list) == 0 {
		b.Fatal(len(list), err)
	}
	return list
}

func last(list []calls.Call) calls.Call { return list[len(list)-1] }
