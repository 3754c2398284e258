package builtin_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/outward/builtin"
	"github.com/beeos/beeos/internal/outward/llm"
	"github.com/beeos/beeos/test/pgtest"
)

// TestNodesShareEvenly: each gets about as many as the others, all agree, and one
// that leaves moves only what it had.
func TestNodesShareEvenly(t *testing.T) {
	const agents = 4000
	nodes := []string{beeos.NewID(), beeos.NewID(), beeos.NewID(), beeos.NewID()}
	count := map[string]int{}
	for range agents {
		id := beeos.NewID()
		node := builtin.NodeFor(id, nodes)
		count[node]++
		turned := slices.Clone(nodes)
		slices.Reverse(turned)
		if got := builtin.NodeFor(id, turned); got != node {
			t.Fatalf("%s and %s", node, got)
		}
		if got := builtin.NodeFor(id, nodes[1:]); node != nodes[0] && got != node {
			t.Fatalf("moved from %s to %s, and %s left", node, got, nodes[0])
		}
	}
	for node, n := range count {
		if n < agents/4*8/10 || n > agents/4*12/10 {
			t.Errorf("%s has %d of %d", node, n, agents)
		}
	}
	if got := builtin.NodeFor("x", nil); got != "" {
		t.Errorf("nobody's is %q's", got)
	}
}

// each runs a test with an empty BeeOS on either database.
func each(t *testing.T, test func(t *testing.T, s *stack)) {
	t.Run("sqlite", func(t *testing.T) { test(t, serve(t)) })
	t.Run("postgres", func(t *testing.T) { test(t, serveOn(t, pgtest.URL(t))) })
}

// runners returns which node runs each agent.
func (s *stack) runners(t *testing.T) map[string]string {
	t.Helper()
	list, err := s.db.Builtins.List(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	runs := map[string]string{}
	for _, row := range list {
		runs[row.ID] = row.Node
	}
	return runs
}

// spread waits until the nodes share the agents as they should.
func (s *stack) spread(t *testing.T, nodes ...string) map[string]string {
	t.Helper()
	var runs map[string]string
	s.eventually(t, 20*time.Second, fmt.Sprint("they are spread over ", nodes), func() bool {
		runs = s.runners(t)
		for id, node := range runs {
			if node != builtin.NodeFor(id, nodes) {
				return false
			}
		}
		return true
	})
	return runs
}

// callers call agents all the time, until stop returns how often and what failed.
func (s *stack) callers(t *testing.T, agents []string) (stop func() (calls int, failed []string)) {
	ctx, cancel := context.WithCancel(t.Context())
	var mu sync.Mutex
	var calls int
	var failed []string
	var all sync.WaitGroup
	for _, id := range agents {
		all.Go(func() {
			for ctx.Err() == nil {
				a, err := s.say(t.Context(), id, "", "go") // to its end
				mu.Lock()
				if calls++; err != nil || a.IsError {
					failed = append(failed, fmt.Sprintf("%+v, %v", a, err))
				}
				mu.Unlock()
				select {
				case <-time.After(20 * time.Millisecond): // they are not here to measure speed
				case <-ctx.Done():
				}
			}
		})
	}
	return func() (int, []string) {
		cancel()
		all.Wait()
		return calls, failed
	}
}

// TestAgentsAreSpread over nodes that come, flicker, leave and die.
func TestAgentsAreSpread(t *testing.T) {
	each(t, func(t *testing.T, s *stack) {
		r := newRoom()
		model := func(node string) llm.Model {
			return llm.Script(func(llm.Request) []llm.Delta { return llm.Say(node) })
		}
		one := r.join(t, s, "one", model("one"))
		s.rt = one.Supervisor
		agents := map[string]string{} // ids by those of their rows
		for i := range 12 {
			row, agent := s.create(t, builtin.Definition{Name: fmt.Sprint("clerk-", i)}, nil)
			agents[row] = agent
		}
		s.spread(t, "one")

		// Whoever comes takes its share, and no call fails.
		stop := s.callers(t, slices.Collect(maps.Values(agents)))
		two := r.join(t, s, "two", model("two"))
		s.spread(t, "one", "two")
		three := r.join(t, s, "three", model("three"))
		runs := s.spread(t, "one", "two", "three")
		if calls, failed := stop(); len(failed) > 0 {
			t.Errorf("%d of %d calls failed: %s", len(failed), calls, failed[0])
		}
		answeredBy := func(row string) string {
			a, err := s.say(t.Context(), agents[row], "", "go")
			if err != nil || a.IsError {
				return ""
			}
			return a.Text
		}
		for row, node := range runs {
			s.eventually(t, 5*time.Second, "the old one is gone", func() bool { return answeredBy(row) == node })
		}

		// They stay where they are, also while one comes and goes on the bus.
		for range 40 {
			r.setAway("two", !r.isAway("two"))
			time.Sleep(100 * time.Millisecond)
			if now := s.runners(t); !maps.Equal(now, runs) {
				t.Fatalf("run by %v, and then by %v", runs, now)
			}
		}
		r.setAway("two", false)

		// A node that dies is replaced.
		began := time.Now()
		three.kill()
		for row, node := range runs {
			if node == "three" {
				s.eventually(t, 20*time.Second, "it answers elsewhere", func() bool { by := answeredBy(row); return by != "" && by != "three" })
			}
		}
		took := time.Since(began)
		if t.Logf("what a dead node ran answers %s later", took.Round(time.Millisecond)); took > 5*time.Second {
			t.Errorf("what a dead node ran answers %s later", took)
		}
		s.spread(t, "one", "two")

		// One that leaves hands over first, and no call fails.
		stop = s.callers(t, slices.Collect(maps.Values(agents)))
		began = time.Now()
		two.leave()
		t.Logf("left within %s", time.Since(began).Round(time.Millisecond))
		s.spread(t, "one")
		if calls, failed := stop(); len(failed) > 0 {
			t.Errorf("%d of %d calls failed: %s", len(failed), calls, failed[0])
		}
		began = time.Now() // nobody is left to hand over to
		one.leave()
		if took := time.Since(began); took > 2*time.Second {
			t.Errorf("the last one left after %s", took)
		}
	})
}

func (r *room) isAway(node string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.away[node]
}

// TestServersWithoutABusLeaveEachOtherAlone: what one of them runs stays there, until
// it is dead.
func TestServersWithoutABusLeaveEachOtherAlone(t *testing.T) {
	s := serveOn(t, pgtest.URL(t))
	var none *room
	model := llm.Script(func(llm.Request) []llm.Delta { return llm.Say("here") })
	one := none.join(t, s, "one", model)
	s.rt = one.Supervisor
	for i := range 4 {
		s.create(t, builtin.Definition{Name: fmt.Sprint("clerk-", i)}, nil)
	}
	runs := s.spread(t, "one")
	two := none.join(t, s, "two", model)
	for range 50 {
		two.Hear(builtin.News{})
		time.Sleep(100 * time.Millisecond)
		if now := s.runners(t); !maps.Equal(now, runs) {
			t.Fatalf("run by %v, and then by %v", runs, now)
		}
	}
	began := time.Now()
	one.kill()
	s.spread(t, "two")
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("taken over after %s", took)
	}
}
