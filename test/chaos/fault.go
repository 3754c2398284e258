//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
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
	restartDatabase = fault{"database: kill -9", time.Second, false, func(w place, _ *rand.Rand) (string, func() error, func(context.Context) error) {
		return "database", w.Database.Restart, healed(func() {})
	}}
	killPrimary = fault{"primary: kill -9, its standby takes over", 3 * time.Second, false, func(w place, _ *rand.Rand) (string, func() error, func(context.Context) error) {
		return "database", w.Database.KillPrimary, w.Database.Promote
	}}
	freezePrimary = fault{"primary: SIGSTOP, its standby takes over", 5 * time.Second, false, func(w place, _ *rand.Rand) (string, func() error, func(context.Context) error) {
		return "database", w.Database.FreezePrimary, w.Database.Promote
	}}
	fullDisk = fault{"disk: full", 6 * time.Second, false, func(w place, _ *rand.Rand) (string, func() error, func(context.Context) error) {
		return "disk", w.Disk.Fill, func(context.Context) error { return w.Disk.Empty() }
	}}
	forwardClock  = setClock("set forward", 1)
	backwardClock = setClock("set back", -1)
	crowd         = fault{"200 more callers", 5 * time.Second, false, func(w place, rng *rand.Rand) (string, func() error, func(context.Context) error) {
		var disperse func()
		seed := rng.Uint64()
		return "callers", still(func() { disperse = w.load.Crowd(200, seed) }), healed(func() { disperse() })
	}}
)

// setClock is a clock that is wrong by a little or by much, and then right again.
func setClock(what string, sign time.Duration) fault {
	return fault{"server's clock: " + what, 8 * time.Second, false, func(w place, rng *rand.Rand) (string, func() error, func(context.Context) error) {
		n := anyNode(w, rng)
		ahead := sign * [...]time.Duration{20 * time.Second, 10 * time.Minute, time.Hour + time.Minute}[rng.IntN(3)]
		return n.Name, func() error { return n.Clock.Set(ahead) }, func(context.Context) error { return n.Clock.Set(0) }
	}}
}

// What happens to servers of NATS, to one or to two at once.
var (
	killNATS   = breakNATS("kill -9", 1, 3*time.Second, killEach, startEach)
	stopNATS   = breakNATS("SIGTERM", 1, 2*time.Second, stopEach, startEach)
	freezeNATS = breakNATS("SIGSTOP", 1, 6*time.Second, freezeEach, thawEach)

	killTwoNATS   = breakNATS("kill -9", 2, 3*time.Second, killEach, startEach)
	stopTwoNATS   = breakNATS("SIGTERM", 2, 2*time.Second, stopEach, startEach)
	freezeTwoNATS = breakNATS("SIGSTOP", 2, 6*time.Second, freezeEach, thawEach)
)

func killEach(s *world.NATS) error                       { s.Kill(); return nil }
func stopEach(s *world.NATS) error                       { return s.Terminate() }
func freezeEach(s *world.NATS) error                     { s.Freeze(); return nil }
func startEach(ctx context.Context, s *world.NATS) error { return s.Start(ctx) }
func thawEach(_ context.Context, s *world.NATS) error    { s.Thaw(); return nil }

// breakNATS is what happens to so many servers of NATS.
func breakNATS(what string, many int, longest time.Duration, hurt func(*world.NATS) error, heal func(context.Context, *world.NATS) error) fault {
	name := "NATS: " + what
	if many > 1 {
		name = fmt.Sprintf("%d servers of NATS: %s", many, what)
	}
	return fault{name, longest, false, func(w place, rng *rand.Rand) (string, func() error, func(context.Context) error) {
		var some []*world.NATS
		var names []string
		for _, i := range rng.Perm(len(w.NATS))[:many] {
			some, names = append(some, w.NATS[i]), append(names, w.NATS[i].Name)
		}
		all := func(do func(*world.NATS) error) (err error) {
			for _, s := range some {
				err = errors.Join(err, do(s))
			}
			return err
		}
		return strings.Join(names, and), func() error { return all(hurt) }, func(ctx context.Context) error {
			return all(func(s *world.NATS) error { return heal(ctx, s) })
		}
	}}
}

// What happens to the ways between two sides.
var (
	silentAgent, cutAgent, slowAgent = breakLines("agent to server", func(w place, rng *rand.Rand) (string, world.Lines) {
		a := anyAgent(w, rng)
		return a.Name, world.Lines{a.Gateway}
	})
	silentMesh, cutMesh, slowMesh = breakLines("server to server", func(w place, _ *rand.Rand) (string, world.Lines) {
		return "mesh", w.Mesh
	})
	silentNATS, cutNATS, slowNATS = breakLines("server to NATS", func(w place, rng *rand.Rand) (string, world.Lines) {
		n := anyNode(w, rng)
		return n.Name, n.NATS
	})
	silentDatabase, cutDatabase, slowDatabase = breakLines("server to database", func(w place, rng *rand.Rand) (string, world.Lines) {
		n := anyNode(w, rng)
		return n.Name, n.Database
	})
)

// breakLines are the faults of one kind of line: silent, cut and slow.
func breakLines(between string, lines func(w place, rng *rand.Rand) (target string, all world.Lines)) (silent, cut, slow fault) {
	of := func(what string, longest time.Duration, hurt func(world.Lines)) fault {
		return fault{between + ": " + what, longest, false, func(w place, rng *rand.Rand) (string, func() error, func(context.Context) error) {
			target, all := lines(w, rng)
			return target, still(func() { hurt(all) }), healed(all.Heal)
		}}
	}
	return of("silent", 8*time.Second, world.Lines.Silence), of("cut", time.Second, world.Lines.Cut),
		of("30 ms slower", 6*time.Second, func(all world.Lines) { all.Slow(30 * time.Millisecond) })
}

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
	d := deck{rng: rand.New(rand.NewPCG(seed, 0)), all: faults}
	for at := time.Duration(0); ; {
		s := d.draw()
		if d.rng.IntN(3) == 0 {
			also := d.draw()
			s.also = &also
		}
		if at += s.length(); at > length {
			return steps
		}
		steps = append(steps, s)
	}
}

// deck has each fault once, in any order; when all are drawn it is shuffled again.
type deck struct {
	rng  *rand.Rand
	all  []fault
	left []int
}

func (d *deck) draw() step {
	if len(d.left) == 0 {
		d.left = d.rng.Perm(len(d.all))
	}
	f := d.all[d.left[0]]
	d.left = d.left[1:]
	return step{
		after: time.Second/2 + time.Duration(d.rng.Int64N(int64(2*time.Second))), fault: f, seed: d.rng.Uint64(),
		lasts: f.longest/2 + time.Duration(d.rng.Int64N(int64(f.longest/2))),
	}
}

// length is how long it takes, with what is broken besides.
func (s *step) length() time.Duration {
	if s.also == nil {
		return s.after + s.lasts
	}
	return s.after + max(s.lasts, s.also.after+s.also.lasts)
}

// carryOut breaks one thing, or two, and makes them whole again, and then what has
// to be before the next one.
func (s *step) carryOut(ctx context.Context, w place, h *history.History) error {
	if err := s.breakThings(ctx, w, h); err != nil {
		return err
	}
	return w.Repair()
}

func (s *step) breakThings(ctx context.Context, w place, h *history.History) error {
	first := s.aim(w)
	if s.also == nil {
		return first.carryOut(ctx, h)
	}
	second := s.also.aim(w)
	if second.concerns(&first) { // a frozen server cannot be killed as well
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

// and stands between the names of several targets.
const and = " and "

// concerns reports whether two blows have a target in common.
func (b *blow) concerns(other *blow) bool {
	others := strings.Split(other.target, and)
	return slices.ContainsFunc(strings.Split(b.target, and), func(name string) bool { return slices.Contains(others, name) })
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
