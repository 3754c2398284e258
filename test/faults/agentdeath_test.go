package faults

import (
	"context"
	"fmt"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
)

// TestAgentKilledWithCallsInFlight: two processes serve one agent, one of them
// is killed with work in hand, and the other one takes that over.
func TestAgentKilledWithCallsInFlight(t *testing.T) {
	t.Run("one node", func(t *testing.T) {
		n := newNode(t, "node", "BEEOS_DURABILITY=fsync")
		key := n.owner()
		n.start()
		testAgentKilled(t, key, []*node{n, n})
	})
	t.Run("two nodes", func(t *testing.T) {
		p := meshed(t)
		testAgentKilled(t, p.key, []*node{p.a, p.b})
	})
}

func testAgentKilled(t *testing.T, key string, nodes []*node) {
	const calls = 200
	// One identity: the processes are the same agent to everybody else.
	identity := t.TempDir() + "/id.json"
	var agents []*agentProcess
	for i, n := range nodes {
		agents = append(agents, startAgent(t, fmt.Sprintf("agent %d", i), spec{Name: "echo", Gateway: n.agents, Key: key, Identity: identity}))
	}
	id := agents[0].id
	if agents[1].id != id {
		t.Fatalf("the two processes are the agents %s and %s", id, agents[1].id)
	}
	for _, n := range nodes {
		n.online(key, id, true)
	}
	g, ctx := errgroup.WithContext(t.Context())
	ctx, cancel := context.WithTimeout(ctx, 2*patience)
	defer cancel()
	for i, n := range nodes {
		c := newCaller(t, n, id, key, calls/2)
		for k := range calls / 2 {
			g.Go(func() error { return holdOne(ctx, c, i*calls/2+k) })
		}
	}
	begun(t, calls, agents...)
	doomed, heir := agents[0], agents[1]
	lost := doomed.executions()
	began := time.Now()
	doomed.Kill()
	begun(t, calls, heir)
	took := time.Since(began)
	t.Logf("%d of %d calls were with the killed process; the other had them after %s", len(lost), calls, took.Round(time.Millisecond))
	if took > 10*time.Second { // the least that is left of a lease
		t.Errorf("the work of the dead process was handed over after %s: nobody noticed its death", took)
	}
	heir.release()
	if err := g.Wait(); err != nil {
		t.Error(err)
	}
	checkHeir(t, lost, heir.executions(), calls)
	r := nodes[0].records()
	r.settled(patience)
	r.sound(calls)
}

func holdOne(ctx context.Context, c *caller, i int) error {
	text := fmt.Sprintf("hold %d", i)
	got, err := c.tool(ctx, text, "")
	if err == nil && got != echoed(text) {
		err = fmt.Errorf("answered %q", got)
	}
	if err != nil {
		return fmt.Errorf("call %d: %w", i, err)
	}
	return nil
}

// checkHeir compares what the survivor did with what the dead process had.
func checkHeir(t *testing.T, lost, done []execution, calls int) {
	t.Helper()
	if len(lost) == 0 || len(lost) == calls {
		t.Errorf("the killed process had %d of %d calls: this tests nothing", len(lost), calls)
	}
	taken := map[string]bool{}
	for _, e := range lost {
		taken[e.message] = true
	}
	seen := map[string]bool{}
	again := 0
	for _, e := range done {
		want := 1
		if taken[e.message] {
			want = 2
			again++
		}
		if e.attempt != want {
			t.Errorf("message %s came as attempt %d, want %d", e.message, e.attempt, want)
		}
		if seen[e.message] {
			t.Errorf("the survivor executed %s twice", e.message)
		}
		seen[e.message] = true
	}
	if again != len(lost) || len(seen) != calls {
		t.Errorf("the survivor executed %d messages, %d of the %d lost ones; want %d", len(seen), again, len(lost), calls)
	}
}
