package main

import (
	"context"
	"crypto/ed25519"
	"fmt"
	"strings"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/ledger"
	"github.com/beeos/beeos/internal/store"
)

const registered = 100_000

// scale compares a call on an empty server with one on a full one.
func scale(ctx context.Context, s settings) (string, error) {
	var rigs []rig
	for _, full := range []bool{false, true} {
		name, fill := "empty", func(context.Context, *store.Store, string) error { return nil }
		if full {
			name = fmt.Sprintf("%d agents, %d messages", registered, s.stored)
			fill = func(ctx context.Context, db *store.Store, user string) error { return fillUp(ctx, db, user, s.stored) }
		}
		b, err := prepare(ctx, "fsync", fill)
		if err != nil {
			return "", err
		}
		defer b.close()
		if err := b.run(ctx, s.server, "fsync"); err != nil {
			return "", err
		}
		stop, id, err := b.connectAgent(ctx)
		if err != nil {
			return "", err
		}
		defer stop()
		rigs = append(rigs, rig{name, b.callTarget(id), b.process})
	}
	samples, err := interleave(ctx, rigs, []int{64}, s)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	out.WriteString("| server holds | calls/s | p50 | server CPU per call |\n|---|---:|---:|---:|\n")
	for i, r := range rigs {
		x := samples[cell{i, 64}]
		fmt.Fprintf(&out, "| %s | %.0f | %.2f ms | %.0f µs |\n", r.name, median(x, sample.perSecond),
			median(x, func(s sample) float64 { return ms(s.p50) }), median(x, func(s sample) float64 { return float64(s.cpu.Microseconds()) }))
	}
	return out.String(), nil
}

// fillUp registers agents and stores messages through the code that does it
// in earnest.
func fillUp(ctx context.Context, db *store.Store, user string, messages int) error {
	const each = 1000 // agents per instance
	for i := range registered / each {
		public, _, err := ed25519.GenerateKey(nil)
		if err != nil {
			return err
		}
		inst := beeos.Instance{ID: beeos.NewID(), OwnerID: user, Name: fmt.Sprint("fill-", i), PublicKey: public, CreatedAt: time.Now()}
		if err := db.Instances.Create(ctx, inst); err != nil {
			return err
		}
		defs := make([]beeos.Definition, each)
		for j := range defs {
			defs[j] = beeos.Definition{Name: fmt.Sprint("fill-", i, "-", j), Description: "Fills the table."}
		}
		if _, err := db.Agents.Sync(ctx, inst, defs); err != nil {
			return err
		}
	}
	l, err := ledger.Open(ctx, db.DB, ledger.Options{})
	if err != nil {
		return err
	}
	defer l.Close()
	return storeMessages(ctx, l, messages)
}
