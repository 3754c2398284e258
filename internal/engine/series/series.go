// Package series counts what charts are drawn of: calls that ended, those that went
// wrong, how long they took, and what they took of models, for each agent by five
// minutes and by hour (package calls has the rows).
//
// It stands beside the ledger, not in it: a call pays for a lock and a few additions,
// and a process writes what it has counted every ten seconds and when it ends. One
// that is killed takes the last ten seconds of its charts with it; the calls are in the
// ledger, and what they took is in the usage, whatever happens. While the database is
// away, what was counted stays in memory and is written when it is back.
package series

import (
	"cmp"
	"context"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/beeos/beeos/internal/engine/ledger"
	"github.com/beeos/beeos/internal/store/calls"
)

const (
	saveEvery    = 10 * time.Second
	saveWithin   = 5 * time.Second
	forgetEvery  = 10 * time.Minute
	forgetWithin = time.Minute
	keepFine     = 48 * time.Hour // charts of longer times are made of hours

	// maxUnsaved bounds the rows that wait for a database that is away, some 5 MB.
	// Those that come later are missing in charts.
	maxUnsaved = 20_000
)

// Options is what a Collector needs.
type Options struct {
	Table *calls.Table
	Keep  time.Duration // how long hours are kept; 0 = for ever
	Log   *slog.Logger
	Now   func() time.Time // nil = time.Now
}

// Collector counts for this process.
type Collector struct {
	opt     Options
	mu      sync.Mutex
	agents  map[string]*counts
	unsaved []calls.SeriesRow // of times that are over, oldest first
	dropped int               // rows there was no room for

	away bool // the last try to save went wrong; only the goroutine looks at it
	quit chan struct{}
	done sync.WaitGroup
}

// counts is what one agent's calls of the present add up to.
type counts struct{ fine, coarse row }

// row is a row that calls are still added to.
type row struct {
	calls.SeriesRow
	saved int64 // how many calls it had when it was saved
}

func (r *row) isSaved() bool { return r.saved == r.Calls }

// has reports whether a minute is part of the row's time.
func (r *row) has(minute int64) bool { return minute >= r.At && minute < r.At+r.Minutes }

// Start returns a Collector that saves what it counts until Close.
func Start(opt Options) *Collector {
	c := newCollector(opt)
	c.done.Go(c.run)
	return c
}

func newCollector(opt Options) *Collector {
	opt.Log = cmp.Or(opt.Log, slog.New(slog.DiscardHandler))
	if opt.Now == nil {
		opt.Now = time.Now
	}
	return &Collector{opt: opt, agents: map[string]*counts{}, quit: make(chan struct{})}
}

// Count is the ledger's hook. It never waits for the database.
func (c *Collector) Count(ended []ledger.Ended) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range ended {
		e := &ended[i]
		if e.Route.AgentID == "" {
			continue // its route is not known
		}
		of := c.countsOf(e.Route.AgentID)
		minute, took := e.Reply.CreatedAt.Unix()/60, e.Took()
		for _, r := range [...]*row{&of.fine, &of.coarse} {
			if !r.has(minute) {
				c.begin(r, minute)
			}
			r.Count(e.Outcome, took, e.Usage)
		}
	}
}

func (c *Collector) countsOf(agentID string) *counts {
	of := c.agents[agentID]
	if of == nil {
		of = &counts{}
		of.fine.AgentID, of.fine.Minutes = agentID, calls.Fine
		of.coarse.AgentID, of.coarse.Minutes = agentID, calls.Coarse
		c.agents[agentID] = of
	}
	return of
}

// begin makes a row one of the present. What it had counted waits to be saved. Its slot
// is new, so that it takes the place of no other, even if the clock was set back.
func (c *Collector) begin(r *row, minute int64) {
	if !r.isSaved() {
		if len(c.unsaved) < maxUnsaved {
			c.unsaved = append(c.unsaved, r.SeriesRow)
		} else {
			c.dropped++
		}
	}
	r.At, r.Slot, r.SeriesSum, r.saved = minute-minute%r.Minutes, rand.Int64(), calls.SeriesSum{}, 0
}

// Close saves what was counted, and ends. Nothing is to be counted any more.
func (c *Collector) Close() {
	close(c.quit)
	c.done.Wait()
}

func (c *Collector) run() {
	tick := time.NewTicker(saveEvery)
	defer tick.Stop()
	forgotten := time.Time{}
	for {
		select {
		case <-tick.C:
		case <-c.quit:
			c.report(c.save(context.Background()))
			return
		}
		c.report(c.save(context.Background()))
		if c.opt.Now().Sub(forgotten) >= forgetEvery {
			forgotten = c.opt.Now()
			if err := c.forget(context.Background()); err != nil {
				c.opt.Log.Warn("old series of charts are still there", "err", err)
			}
		}
	}
}

// report says once that the database is away.
func (c *Collector) report(err error) {
	if err != nil && !c.away {
		c.opt.Log.Warn("what charts are drawn of could not be saved; it is tried again every ten seconds", "err", err)
	}
	c.away = err != nil
	c.mu.Lock()
	dropped := c.dropped
	c.dropped = 0
	c.mu.Unlock()
	if dropped > 0 {
		c.opt.Log.Warn("calls are missing in charts: the database was away for too long; the calls themselves are not lost", "rows", dropped)
	}
}

// save writes what was counted since the last time. A row is written whole, into the
// place of what this process wrote of it before, so that to write it twice, after an
// answer that got lost, counts nothing twice.
func (c *Collector) save(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, saveWithin)
	defer cancel()
	rows, over := c.listUnsaved()
	if len(rows) > 0 {
		if err := c.opt.Table.PutSeries(ctx, rows); err != nil {
			return err
		}
	}
	c.noteSaved(rows, over)
	return nil
}

// listUnsaved returns what there is to save; the first rows, so many, are of times
// that are over.
func (c *Collector) listUnsaved() (rows []calls.SeriesRow, over int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	rows, over = append(rows, c.unsaved...), len(c.unsaved)
	for _, of := range c.agents {
		for _, r := range [...]*row{&of.fine, &of.coarse} {
			if !r.isSaved() {
				rows = append(rows, r.SeriesRow)
			}
		}
	}
	return rows, over
}

// noteSaved remembers what was saved, and forgets agents that nobody calls.
func (c *Collector) noteSaved(rows []calls.SeriesRow, over int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unsaved = append([]calls.SeriesRow(nil), c.unsaved[over:]...)
	for i := over; i < len(rows); i++ {
		of, r := c.agents[rows[i].AgentID], &rows[i]
		for _, now := range [...]*row{&of.fine, &of.coarse} {
			if now.Slot == r.Slot {
				now.saved = r.Calls
			}
		}
	}
	minute := c.opt.Now().Unix() / 60
	for id, of := range c.agents {
		if !of.coarse.has(minute) && of.coarse.isSaved() && of.fine.isSaved() {
			delete(c.agents, id)
		}
	}
}

// forget removes what no chart shows any more, one stretch of time after the other:
// writers of calls do not wait long for any of them.
func (c *Collector) forget(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, forgetWithin)
	defer cancel()
	keep := map[int64]time.Duration{calls.Fine: keepFine, calls.Coarse: c.opt.Keep}
	if c.opt.Keep > 0 {
		keep[calls.Fine] = min(keepFine, c.opt.Keep)
	}
	for minutes, keep := range keep {
		for more := keep > 0; more; {
			var err error
			if more, err = c.opt.Table.ForgetSeries(ctx, minutes, c.opt.Now().Add(-keep)); err != nil {
				return err
			}
		}
	}
	return nil
}
