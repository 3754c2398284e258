package telemetry

import (
	"cmp"
	"slices"
	"sync"
	"time"
)

// busiest counts two things, calls and errors or tokens in and out, by names that
// others choose. Whoever makes agents may make thousands, so the busiest have
// numbers of their own and all others share one, "other".
//
// How a late riser gets in: names that are not shown are candidates. When the
// numbers are read, at most once a minute, a candidate that was more than twice as
// busy lately as the least busy of those shown takes its place. Lately means that
// what was counted halves with every such look.
//
// No number ever goes down. What was counted for a name is not moved to "other"
// when the name loses its place, nor the other way round: each call is counted in
// one series for good, so that sums of rates stay right. A name that comes back
// goes on from its own last number. Names are remembered up to a bound; one that
// was forgotten in between begins again at 0, which Prometheus takes for a
// restart, as it should. The number of all calls is that of
// beeos_request_seconds, not the sum of these: what is not shown is not part of
// the sum.
type busiest struct {
	shown int // how many have numbers of their own
	now   func() time.Time

	mu     sync.Mutex
	known  map[pair]*tally
	places int // taken
	other  [2]uint64
	looked time.Time
}

// pair is a name, or two that belong together.
type pair [2]string

type tally struct {
	name   pair
	counts [2]uint64 // while it was shown
	heat   uint64    // how busy it was lately
	shown  bool
}

const (
	lookEvery  = time.Minute
	candidates = 10 // times as many names as are shown are remembered
	overtake   = 2  // so that two that are alike do not change places all the time

	others = "other" // what the others are called, and nobody else
)

func newBusiest(shown int, now func() time.Time) *busiest {
	return &busiest{shown: shown, now: now, known: map[pair]*tally{}}
}

// add counts for a name.
func (b *busiest) add(name pair, first, second uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := b.known[name]
	if t == nil && name[0] != others && len(b.known) < candidates*b.shown {
		t = &tally{name: name, shown: b.places < b.shown}
		if b.known[name] = t; t.shown {
			b.places++
		}
	}
	counts := &b.other
	if t != nil {
		if t.heat += first + second; t.shown {
			counts = &t.counts
		}
	}
	counts[0] += first
	counts[1] += second
}

// read returns what is shown, in no order, and what all others have together.
func (b *busiest) read() (list []tally, other [2]uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if now := b.now(); now.Sub(b.looked) >= lookEvery {
		b.looked = now
		b.changePlaces()
		b.coolDown()
	}
	for _, t := range b.known {
		if t.shown {
			list = append(list, *t)
		}
	}
	return list, b.other
}

// changePlaces lets candidates in; the lock is held.
func (b *busiest) changePlaces() {
	var in, out []*tally
	for _, t := range b.known {
		if t.shown {
			in = append(in, t)
		} else {
			out = append(out, t)
		}
	}
	slices.SortFunc(in, func(x, y *tally) int { return cmp.Compare(x.heat, y.heat) })
	slices.SortFunc(out, func(x, y *tally) int { return cmp.Compare(y.heat, x.heat) })
	for i := range min(len(in), len(out)) {
		if out[i].heat <= overtake*in[i].heat {
			return
		}
		in[i].shown, out[i].shown = false, true
	}
}

// coolDown lets the past count less, and forgets half of the candidates, the
// least busy, when there is no room for new ones; the lock is held.
func (b *busiest) coolDown() {
	var out []*tally
	for _, t := range b.known {
		if t.heat /= 2; !t.shown {
			out = append(out, t)
		}
	}
	if len(b.known) < candidates*b.shown {
		return
	}
	slices.SortFunc(out, func(x, y *tally) int { return cmp.Compare(x.heat, y.heat) })
	for _, t := range out[:len(out)/2] {
		delete(b.known, t.name)
	}
}
