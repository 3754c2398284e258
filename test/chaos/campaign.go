//go:build unix

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/beeos/beeos/test/chaos/history"
	"github.com/beeos/beeos/test/chaos/load"
	"github.com/beeos/beeos/test/chaos/world"
)

// campaign is a world and what is done to it.
type campaign struct {
	name   string
	about  string
	layout world.Layout
	faults []fault
}

var campaigns = []campaign{
	{
		"sqlite", "one server on SQLite",
		world.Layout{Nodes: 1, Agents: 2},
		[]fault{killNode, stopNode, freezeNode, killAgent, stopAgent, freezeAgent, silentAgent, cutAgent, slowAgent, crowd},
	},
	{
		"mesh", "three servers on PostgreSQL that mesh",
		world.Layout{Nodes: 3, Agents: 4, Postgres: true},
		[]fault{killNode, stopNode, freezeNode, killAgent, stopAgent, freezeAgent, silentAgent, cutAgent, cutDatabase, slowDatabase, silentDatabase, restartDatabase, crowd},
	},
	{
		"failover", "two servers that mesh, on PostgreSQL with a synchronous standby",
		world.Layout{Nodes: 2, Agents: 2, Postgres: true, Standby: true},
		[]fault{killPrimary, freezePrimary, killNode, killAgent, cutDatabase, silentDatabase, slowDatabase, crowd},
	},
	{
		"partition", "two servers on PostgreSQL that mesh, and only the ways between them, the database and agents",
		world.Layout{Nodes: 2, Agents: 2, Bare: 1, Postgres: true, Apart: true},
		[]fault{
			silentMesh, cutMesh, slowMesh, silentDatabase, cutDatabase, slowDatabase,
			silentAgent, cutAgent, slowAgent, crowd,
		},
	},
	{
		"nats", "three servers on PostgreSQL and three of NATS",
		world.Layout{Nodes: 3, Agents: 4, Bare: 1, Postgres: true, NATS: 3},
		[]fault{
			killNATS, stopNATS, freezeNATS, killTwoNATS, stopTwoNATS, freezeTwoNATS, silentNATS, cutNATS, slowNATS,
			killNode, stopNode, killAgent, freezeAgent, restartDatabase, crowd,
		},
	},
	{
		"disk", "one server on SQLite, whose disk gets full",
		world.Layout{Nodes: 1, Agents: 2, OwnDisk: true},
		[]fault{fullDisk, killNode, fullDisk, killAgent, crowd},
	},
	{
		"clock", "three servers on PostgreSQL that mesh, of which one has a wrong clock",
		world.Layout{Nodes: 3, Agents: 4, Postgres: true, Clocks: true},
		[]fault{forwardClock, backwardClock, killNode, forwardClock, backwardClock, freezeAgent, killAgent, crowd},
	},
}

// leftOut returns why a campaign cannot be run here; nil = it can.
func (c campaign) leftOut() error {
	if c.layout.OwnDisk {
		return world.CanMount()
	}
	return nil
}

// result is how a campaign went.
type result struct {
	campaign campaign
	seed     uint64
	took     time.Duration
	*history.Verdict
}

// settleWithin is how long after the last fault everything may take to end:
// leases of the dead run out, webhooks are tried again.
const settleWithin = 3 * time.Minute

// run carries out a campaign in a folder, which holds its history afterwards.
func (c campaign) run(ctx context.Context, dir, binary string, seed uint64, length time.Duration, callers int) (*result, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	w, err := world.Start(ctx, dir, binary, c.layout)
	if err != nil {
		return nil, err
	}
	defer w.Stop()
	h, err := history.New(filepath.Join(dir, "history.jsonl"))
	if err != nil {
		return nil, err
	}
	defer h.Close()
	l, err := load.Start(ctx, w, h, seed, callers)
	if err != nil {
		return nil, err
	}
	err = c.hurt(ctx, place{w, l}, h, seed, length)
	l.Stop()
	if err != nil {
		return nil, err
	}
	return c.judge(ctx, w, h, l, seed)
}

// hurt breaks one thing after the other, and sometimes two at once.
func (c campaign) hurt(ctx context.Context, w place, h *history.History, seed uint64, length time.Duration) error {
	for _, s := range plan(seed, c.faults, length) {
		select {
		case <-time.After(s.after):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if err := s.carryOut(ctx, w, h); err != nil {
			return err
		}
	}
	return nil
}

// judge waits until everything has ended and says what held.
func (c campaign) judge(ctx context.Context, w *world.World, h *history.History, l *load.Load, seed uint64) (*result, error) {
	settling, cancel := context.WithTimeout(ctx, settleWithin)
	defer cancel()
	l.Settle(settling)
	untold := l.UntoldWebhooks(ctx, settleWithin)
	other := l.RepeatAnswered(ctx, 200)
	done, err := w.Executions()
	if err != nil {
		return nil, err
	}
	v := h.Check(done)
	v.Lost = append(v.Lost, untold...)
	v.Wrong = append(v.Wrong, other...)
	db, err := w.Open(ctx)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	if err := awaitQuiet(settling, db); err != nil {
		v.Lost = append(v.Lost, err.Error())
	}
	if err := h.CheckStored(ctx, db, v); err != nil {
		return nil, fmt.Errorf("look into the database: %w", err)
	}
	for _, n := range w.Nodes {
		h.Note("%s said at last:\n%s", n.Name, n.Logs())
	}
	return &result{c, seed, h.Now(), v}, nil
}
