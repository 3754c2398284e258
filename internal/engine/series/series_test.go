package series

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/ledger"
	"github.com/beeos/beeos/internal/store"
	"github.com/beeos/beeos/internal/store/calls"
	"github.com/beeos/beeos/internal/store/storetest"
)

// noon is a time at which both an hour and five minutes begin.
var noon = time.Date(2026, 3, 5, 12, 0, 0, 0, time.UTC)

// endedAt is a call as the ledger tells of it.
func endedAt(agent string, at time.Time, outcome calls.Outcome, took time.Duration, usage ...calls.Usage) ledger.Ended {
	return ledger.Ended{Route: calls.Route{AgentID: agent}, Outcome: outcome, Began: at.Add(-took), Reply: beeos.Message{CreatedAt: at}, Usage: usage}
}

func tokens(in, out, micros, unpriced int64) calls.Usage {
	return calls.Usage{UsageSum: calls.UsageSum{Answers: 1, Input: in, Output: out, Micros: micros, Unpriced: unpriced}}
}

// sumOf is the sum of calls.
func sumOf(list ...ledger.Ended) (s calls.SeriesSum) {
	for i := range list {
		s.Count(list[i].Outcome, list[i].Took(), list[i].Usage)
	}
	return s
}

// read returns what charts of the time from noon on would show.
func read(t *testing.T, db *store.Store, step time.Duration, points int, agents ...string) []calls.SeriesSum {
	t.Helper()
	sums, err := db.Calls.SumSeries(t.Context(), calls.SeriesFilter{AgentIDs: agents, Since: noon, Step: step, Points: points})
	if err != nil {
		t.Fatal(err)
	}
	return sums
}

func save(t *testing.T, c *Collector) {
	t.Helper()
	if err := c.save(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// TestCallsAreAddedUp: by five minutes and by hour, by agent, over several processes,
// however often each of them saves.
func TestCallsAreAddedUp(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.Store) {
		now := noon
		opt := Options{Table: db.Calls, Now: func() time.Time { return now }}
		one, two := newCollector(opt), newCollector(opt)
		a1 := endedAt("a", noon.Add(time.Minute), calls.OK, 3*time.Millisecond, tokens(10, 1, 100, 0), tokens(5, 5, 0, 10))
		a2 := endedAt("a", noon.Add(2*time.Minute), calls.Failed, 3*time.Second)
		a3 := endedAt("a", noon.Add(6*time.Minute), calls.Canceled, time.Hour)
		a4 := endedAt("a", noon.Add(61*time.Minute), calls.Lost, 0)
		b1 := endedAt("b", noon.Add(time.Minute), calls.OK, time.Millisecond)
		one.Count([]ledger.Ended{a1, b1, {Reply: a1.Reply}}) // the last is nobody's
		save(t, one)
		one.Count([]ledger.Ended{a2})
		save(t, one)
		save(t, one)
		two.Count([]ledger.Ended{a1})
		one.Count([]ledger.Ended{a3, a4}) // the first of them is of a time that is over when it is saved
		save(t, two)
		save(t, one)

		if diff := cmp.Diff([]calls.SeriesSum{sumOf(a1, a2, a1), sumOf(a3), {}}, read(t, db, 5*time.Minute, 3, "a")); diff != "" {
			t.Error("by five minutes:", diff)
		}
		if diff := cmp.Diff([]calls.SeriesSum{sumOf(a1, a2, a1, a3), sumOf(a4)}, read(t, db, time.Hour, 2, "a")); diff != "" {
			t.Error("by hour:", diff)
		}
		if diff := cmp.Diff([]calls.SeriesSum{sumOf(a1, a2, a1, a3, a4, b1)}, read(t, db, 2*time.Hour, 1, "a", "b", "c")); diff != "" {
			t.Error("of all:", diff)
		}
		if diff := cmp.Diff([]calls.SeriesSum{{}}, read(t, db, time.Hour, 1)); diff != "" {
			t.Error("of none:", diff)
		}
		if got := sumOf(a1, a2, a3, a4); got.Calls != 4 || got.Problems != 2 || got.Input != 15 || got.Output != 6 || got.Micros != 100 || got.Unpriced != 10 {
			t.Errorf("a sum is %+v", got)
		}

		now = noon.Add(3 * time.Hour)
		save(t, one)
		if len(one.agents) != 0 {
			t.Errorf("agents that nobody calls are still counted for: %v", one.agents)
		}
		late := endedAt("a", noon.Add(61*time.Minute), calls.OK, 0)
		one.Count([]ledger.Ended{late}) // what was saved of this time is not written over
		save(t, one)
		if got := read(t, db, time.Hour, 2, "a")[1]; got.Calls != 2 {
			t.Errorf("a late call: %+v", got)
		}
	})
}

// TestOutageLosesNothing: what could not be saved is, later.
func TestOutageLosesNothing(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.Store) {
		exec := func(query string) {
			t.Helper()
			if _, err := db.ExecContext(t.Context(), query); err != nil {
				t.Fatal(err)
			}
		}
		var log strings.Builder
		c := newCollector(Options{Table: db.Calls, Log: slog.New(slog.NewTextHandler(&log, nil)), Now: func() time.Time { return noon }})
		first, second := endedAt("a", noon, calls.OK, time.Second), endedAt("a", noon.Add(5*time.Minute), calls.OK, time.Minute)
		exec(`ALTER TABLE series RENAME TO gone`)
		for _, e := range []ledger.Ended{first, second} {
			c.Count([]ledger.Ended{e})
			err := c.save(t.Context())
			if err == nil {
				t.Fatal("it was saved into a table that is not there")
			}
			c.report(err)
		}
		if n := strings.Count(log.String(), "could not be saved"); n != 1 {
			t.Errorf("it was said %d times: %s", n, log.String())
		}
		exec(`ALTER TABLE gone RENAME TO series`)
		save(t, c)
		if diff := cmp.Diff([]calls.SeriesSum{sumOf(first), sumOf(second)}, read(t, db, 5*time.Minute, 2, "a")); diff != "" {
			t.Error(diff)
		}
		if rows, _ := c.listUnsaved(); len(rows) != 0 {
			t.Errorf("still to be saved: %+v", rows)
		}
	})
}

// TestLongOutageIsBounded: there is room for so many rows, and it is said when there
// was none.
func TestLongOutageIsBounded(t *testing.T) {
	var log strings.Builder
	c := newCollector(Options{Log: slog.New(slog.NewTextHandler(&log, nil)), Now: func() time.Time { return noon }})
	for i := range maxUnsaved + 100 {
		c.Count([]ledger.Ended{endedAt("a", noon.Add(time.Duration(i)*5*time.Minute), calls.OK, 0)})
	}
	if len(c.unsaved) != maxUnsaved {
		t.Errorf("%d rows wait", len(c.unsaved))
	}
	c.report(nil)
	c.report(nil)
	if n := strings.Count(log.String(), "missing in charts"); n != 1 {
		t.Errorf("it was said %d times: %s", n, log.String())
	}
}

// TestCloseSaves: what was counted last is there after an orderly end.
func TestCloseSaves(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.Store) {
		c := Start(Options{Table: db.Calls})
		c.Count([]ledger.Ended{endedAt("a", noon, calls.OK, time.Second)})
		c.Close()
		if got := read(t, db, 5*time.Minute, 1, "a"); got[0].Calls != 1 {
			t.Errorf("saved is %+v", got)
		}
	})
}

// TestOldIsForgotten: five minutes after two days, hours with the calls.
func TestOldIsForgotten(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.Store) {
		now := noon
		c := newCollector(Options{Table: db.Calls, Keep: 72 * time.Hour, Now: func() time.Time { return now }})
		for hour := range 4 {
			c.Count([]ledger.Ended{endedAt("a", noon.Add(time.Duration(hour)*time.Hour), calls.OK, 0), endedAt("b", noon.Add(time.Duration(hour)*time.Hour), calls.OK, 0)})
		}
		save(t, c)
		for _, want := range []struct {
			after        time.Duration
			fine, coarse int64
		}{{time.Hour, 8, 8}, {49*time.Hour + time.Minute, 4, 8}, {73*time.Hour + time.Minute, 0, 4}, {100 * time.Hour, 0, 0}} {
			now = noon.Add(want.after)
			if err := c.forget(t.Context()); err != nil {
				t.Fatal(err)
			}
			fine, coarse := countCalls(read(t, db, 5*time.Minute, 48, "a", "b")), countCalls(read(t, db, time.Hour, 4, "a", "b"))
			if fine != want.fine || coarse != want.coarse {
				t.Errorf("after %v, %d calls are in five minutes and %d in hours, not %d and %d", want.after, fine, coarse, want.fine, want.coarse)
			}
		}

		forever := newCollector(Options{Table: db.Calls, Now: func() time.Time { return noon.AddDate(10, 0, 0) }})
		forever.Count([]ledger.Ended{endedAt("a", noon, calls.OK, 0)})
		save(t, forever)
		if err := forever.forget(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := countCalls(read(t, db, time.Hour, 4, "a", "b")); n != 1 {
			t.Errorf("of what is kept for ever %d calls are left", n)
		}
	})
}

func countCalls(sums []calls.SeriesSum) (n int64) {
	for i := range sums {
		n += sums[i].Calls
	}
	return n
}

// BenchmarkCount is what a call pays.
func BenchmarkCount(b *testing.B) {
	c := newCollector(Options{})
	list := []ledger.Ended{endedAt("agent_4azci5zkplpodgxw", noon, calls.OK, 12*time.Millisecond, tokens(10, 1, 100, 0))}
	b.ReportAllocs()
	for b.Loop() {
		c.Count(list)
	}
}

// TestCountAllocatesNothing: not for an agent that is called all the time.
func TestCountAllocatesNothing(t *testing.T) {
	c := newCollector(Options{})
	list := []ledger.Ended{endedAt("agent_4azci5zkplpodgxw", noon, calls.OK, 12*time.Millisecond, tokens(10, 1, 100, 0))}
	if n := testing.AllocsPerRun(100, func() { c.Count(list) }); n != 0 {
		t.Errorf("a call costs %v allocations", n)
	}
}
