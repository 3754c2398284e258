package faults

import (
	"context"
	"os"
	"slices"
	"sync"
	"testing"
	"time"
)

// strictVar is set by make hostile, for a machine that has nothing else to do:
// how long the calls of others take is then more than a figure in the log.
const strictVar = "FAULTS_STRICT"

var strict = os.Getenv(strictVar) != ""

const (
	paceEvery = 20 * time.Millisecond // between two calls of a bystander
	calmFor   = 4 * time.Second       // and as long at least under each attack, where it counts
	maxGrowth = 64 << 20              // of a process under attack, in bytes
	tries     = 3                     // at a figure that any other program may spoil
)

// aside lets a test run beside the others, unless they would be in its figures.
func aside(t *testing.T) {
	t.Helper()
	if !strict {
		t.Parallel()
	}
}

// bystander is another tenant, whose calls have nothing to do with an attack.
type bystander struct {
	*caller
	calm    figures
	watched []*process // must not grow
}

// figures are how long calls took.
type figures struct {
	calls    int
	p50, p99 time.Duration
}

// newBystander has an agent of its own connect to a node that runs; key is that
// of its user.
func newBystander(t testing.TB, n *node, key string, others ...*process) *bystander {
	t.Helper()
	a := startAgent(t, "the bystander's agent", spec{Name: "bystander", Gateway: n.agents, Key: key, Identity: t.TempDir() + "/id.json"})
	b := &bystander{caller: newCaller(t, n, a.id, key, 64), watched: append(others, n.proc)}
	b.slowest(t, 2000) // the first calls open connections, and a server has a working set
	if !strict {
		b.calm = b.measure(t, func() { pause(t.Context(), time.Second) })
	}
	return b
}

// measure calls at an even pace until while returns.
func (b *bystander) measure(t testing.TB, while func()) figures {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	var calls sync.WaitGroup
	var mu sync.Mutex
	var took []time.Duration
	calls.Go(func() {
		tick := time.NewTicker(paceEvery)
		defer tick.Stop()
		for ctx.Err() == nil {
			calls.Go(func() {
				begun := time.Now()
				got, err := b.invoke(t.Context(), "hello")
				if err != nil || got != echoed("hello") {
					t.Errorf("a bystander was answered %q, %v", got, err)
				}
				mu.Lock()
				defer mu.Unlock()
				took = append(took, time.Since(begun))
			})
			select {
			case <-tick.C:
			case <-ctx.Done():
			}
		}
	})
	while()
	stop()
	calls.Wait()
	slices.Sort(took)
	return figures{len(took), took[len(took)/2], took[len(took)*99/100]}
}

// suffer has somebody attack while the bystander goes on calling. The processes
// that are watched must not grow; and, where that counts, 99 of 100 calls take
// less than twice what they take without.
func (b *bystander) suffer(t testing.TB, name string, attack func()) {
	t.Helper()
	for try := 1; ; try++ {
		if strict {
			b.calm = b.measure(t, func() { pause(t.Context(), calmFor) })
		}
		under := b.sufferOnce(t, name, attack)
		if !strict || under.p99 < 2*b.calm.p99 {
			return
		}
		if try == tries || t.Failed() {
			t.Errorf("%s: 99 of 100 calls took less than %s, %s without", name, under.p99, b.calm.p99)
			return
		}
	}
}

func (b *bystander) sufferOnce(t testing.TB, name string, attack func()) figures {
	t.Helper()
	before, peaks := make([]int64, len(b.watched)), make([]*int64, len(b.watched))
	var stops []func()
	for i, p := range b.watched {
		before[i] = residentMemory(t, p.Pid())
		peak, stop := watchMemory(t, p.Pid())
		peaks[i], stops = peak, append(stops, stop)
	}
	begun := time.Now()
	under := b.measure(t, func() {
		for attack(); strict && !t.Failed() && time.Since(begun) < calmFor; {
			attack()
		}
	})
	for _, stop := range stops {
		stop()
	}
	for i, p := range b.watched {
		grown := *peaks[i] - before[i]
		t.Logf("%s: %s took %d MB more", name, p.Name, grown>>20)
		if grown > maxGrowth && !raceEnabled {
			t.Errorf("%s: %s took %d MB more", name, p.Name, grown>>20)
		}
	}
	t.Logf("%s: for %s, 50 of 100 calls took less than %s, 99 less than %s; %s and %s without",
		name, time.Since(begun).Round(time.Millisecond), under.p50, under.p99, b.calm.p50, b.calm.p99)
	return under
}
