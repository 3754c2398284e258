//go:build unix

package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/beeos/beeos/test/chaos/history"
	"github.com/beeos/beeos/test/chaos/load"
	"github.com/beeos/beeos/test/chaos/world"
)

// fault is one way to break something: hurt does it and heal takes it back.
type fault struct {
	name string
	// longest is how long it may last; it lasts half of it at least.
	longest time.Duration
	// mute says that the target could not speak meanwhile, so that its callers
	// may have waited for that long.
	mute bool
	pick func(w place, rng *rand.Rand) (target string, hurt func() error, heal func(context.Context) error)
}

// place is where things are broken: a world and those who use it.
type place struct {
	*world.World
	load *load.Load
}

func anyNode(w place, rng *rand.Rand) *world.Node { return w.Nodes[rng.IntN(len(w.Nodes))] }

func anyAgent(w place, rng *rand.Rand) *world.Agent { return w.Agents[rng.IntN(len(w.Agents))] }

func still(f func()) func() error { return func() error { f(); return nil } }

func healed(f func()) func(context.Context) error {
	return func(context.Context) error { f(); return nil }
}

var (
	killNode = fault{"server: kill -9", 3 * time.Second, true, func(w place, rng *rand.Rand) (string, func() error, func(context.Context) error) {
		n := anyNode(w, rng)
		return n.Name, still(n.Kill), n.Start
	}}
	stopNode = fault{"server: SIGTERM", 2 * time.Second, true, func(w place, rng *rand.Rand) (string, func() error, func(context.Context) error) {
		n := anyNode(w, rng)
		return n.Name, n.Terminate, n.Start
	}}
	freezeNode = fault{"server: SIGSTOP", 8 * time.Second, true, func(w place, rng *rand.Rand) (string, func() error, func(context.Context) error) {
		n := anyNode(w, rng)
		return n.Name, still(n.Freeze), healed(n.Thaw)
	}}
	killAgent = fault{"agent: kill -9", 3 * time.Second, false, func(w place, rng *rand.Rand) (string, func() error, func(context.Context) error) {
		a := anyAgent(w, rng)
		return a.Name, still(a.Kill), a.Start
	}}
	stopAgent = fault{"agent: SIGTERM", 2 * time.Second, false, func(w place, rng *rand.Rand) (string, func() error, func(context.Context) error) {
		a := anyAgent(w, rng)
		return a.Name, a.Terminate, a.Start
	}}
	freezeAgent = fault{"agent: SIGSTOP", 8 * time.Second, false, func(w place, rng *rand.Rand) (string, func() error, func(context.Context) error) {
		a := anyAgent(w, rng)
		return a.Name, still(a.Freeze), healed(a.Thaw)
	}}
	silentAgent = fault{"agent to server: silent", 8 * time.Second, false, func(w place, rng *rand.Rand) (string, func() error, func(context.Context) error) {
		a := anyAgent(w, rng)
		return a.Name, still(a.Gateway.Silence), healed(a.Gateway.Heal)
	}}
	cutAgent = fault{"agent to server: cut", time.Second, false, func(w place, rng *rand.Rand) (string, func() error, func(context.Context) error) {
		a := anyAgent(w, rng)
		return a.Name, still(a.Gateway.Cut), healed(func() {})
	}}
	restartDatabase = fault{"database: kill -9", time.Second, false, func(w place, _ *rand.Rand) (string, func() error, func(context.Context) error) {
		return "database", w.RestartDatabase, healed(func() {})
	}}
	silentDatabase = fault{"server to database: silent", 8 * time.Second, false, func(w place, rng *rand.Rand) (string, func() error, func(context.Context) error) {
		n := anyNode(w, rng)
		return n.Name, still(n.Database.Silence), healed(n.Database.Heal)
	}}
	cutDatabase = fault{"server to database: cut", time.Second, false, func(w place, rng *rand.Rand) (string, func() error, func(context.Context) error) {
		n := anyNode(w, rng)
		return n.Name, still(n.Database.Cut), healed(func() {})
	}}
	slowDatabase = fault{"server to database: 30 ms slower", 6 * time.Second, false, func(w place, rng *rand.Rand) (string, func() error, func(context.Context) error) {
		n := anyNode(w, rng)
		return n.Name, still(func() { n.Database.Slow(30 * time.Millisecond) }), healed(n.Database.Heal)
	}}
	killNATS = fault{"NATS: kill -9", 3 * time.Second, false, func(w place, _ *rand.Rand) (string, func() error, func(context.Context) error) {
		return "NATS", still(w.NATS().Kill), w.NATS().Start
	}}
	freezeNATS = fault{"NATS: SIGSTOP", 6 * time.Second, false, func(w place, _ *rand.Rand) (string, func() error, func(context.Context) error) {
		return "NATS", still(w.NATS().Freeze), healed(w.NATS().Thaw)
	}}
	crowd = fault{"200 more callers", 5 * time.Second, false, func(w place, rng *rand.Rand) (string, func() error, func(context.Context) error) {
		var disperse func()
		seed := rng.Uint64()
		return "callers", still(func() { disperse = w.load.Crowd(200, seed) }), healed(func() { disperse() })
	}}
)

// step is one fault of a plan, or two at the same time.
type step struct {
	after time.Duration // the end of the one before
	lasts time.Duration
	fault fault
	seed  uint64 // of what it picks
	also  *step  // begins a moment later; nil = it is alone
}

// plan draws faults for a while from a seed: the same ones at the same moments
// whenever the seed is the same. Every third one is not alone.
func plan(seed uint64, faults []fault, length time.Duration) (steps []step) {
	rng := rand.New(rand.NewPCG(seed, 0))
	for at := time.Duration(0); ; {
		s := drawStep(rng, faults)
		if rng.IntN(3) == 0 {
			also := drawStep(rng, faults)
			s.also = &also
		}
		if at += s.length(); at > length {
			return steps
		}
		steps = append(steps, s)
	}
}

func drawStep(rng *rand.Rand, faults []fault) step {
	f := faults[rng.IntN(len(faults))]
	return step{
		after: time.Second/2 + time.Duration(rng.Int64N(int64(2*time.Second))), fault: f, seed: rng.Uint64(),
		lasts: f.longest/2 + time.Duration(rng.Int64N(int64(f.longest/2))),
	}
}

// length is how long it takes, with what is broken besides.
func (s *step) length() time.Duration {
	if s.also == nil {
		return s.after + s.lasts
	}
	return s.after + max(s.lasts, s.also.after+s.also.lasts)
}

// carryOut breaks one thing, or two, and makes them whole again.
func (s *step) carryOut(ctx context.Context, w place, h *history.History) error {
	first := s.aim(w)
	if s.also == nil {
		return first.carryOut(ctx, h)
	}
	second := s.also.aim(w)
	if second.target == first.target { // a frozen server cannot be killed as well
		return first.carryOut(ctx, h)
	}
	var both errgroup.Group
	both.Go(func() error { return first.carryOut(ctx, h) })
	both.Go(func() error {
		select {
		case <-time.After(s.also.after):
			return second.carryOut(ctx, h)
		case <-ctx.Done():
			return nil
		}
	})
	return both.Wait()
}

// blow is a fault that has its target.
type blow struct {
	fault
	target string
	lasts  time.Duration
	hurt   func() error
	heal   func(context.Context) error
}

func (s *step) aim(w place) blow {
	b := blow{fault: s.fault, lasts: s.lasts}
	b.target, b.hurt, b.heal = s.fault.pick(w, rand.New(rand.NewPCG(s.seed, 0)))
	return b
}

func (b *blow) carryOut(ctx context.Context, h *history.History) error {
	f := history.Fault{Name: b.name, Target: b.target, Began: h.Now(), Mute: b.mute}
	h.Note("%s: %s", f.Target, f.Name)
	if err := b.hurt(); err != nil {
		return fmt.Errorf("%s: %s: %w", f.Target, f.Name, err)
	}
	select {
	case <-time.After(b.lasts):
	case <-ctx.Done():
	}
	if err := b.heal(ctx); err != nil {
		return fmt.Errorf("%s: make it whole after %s: %w", f.Target, f.Name, err)
	}
	f.Ended = h.Now()
	h.AddFault(f)
	return nil
}
