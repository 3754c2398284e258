package faults

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/beeos/beeos/test/pgtest"
	"github.com/beeos/beeos/test/ports"
)

func TestTwoNodesMesh(t *testing.T) {
	testTwoNodes(t, newPair(t, pgtest.Cluster(t, pgtest.Fsync).URL(t), nil))
}

func TestTwoNodesExternalNATS(t *testing.T) {
	testTwoNodes(t, newPair(t, pgtest.Cluster(t, pgtest.Fsync).URL(t), newNATS(t)))
}

// testTwoNodes lets calls enter at B while the agent is connected to A alone.
func testTwoNodes(t *testing.T, p pair) {
	const connections = 64
	calls := much(10_000, 2_000)
	a := startAgent(t, "agent", spec{Name: "echo", Gateway: p.a.agents, Key: p.key, Identity: t.TempDir() + "/id.json"})
	p.b.online(p.key, a.id, true)

	began := time.Now()
	c := newCaller(t, p.b, a.id, p.key, connections)
	callMany(t, c, connections, calls)
	t.Logf("%d calls over %d connections in %s, %.0f a second", calls, connections, time.Since(began).Round(time.Millisecond), float64(calls)/time.Since(began).Seconds())

	times := map[string]int{}
	for _, e := range a.executions() {
		times[e.message]++
		if times[e.message] > 1 || e.attempt != 1 {
			t.Errorf("message %s was executed %d times, attempt %d", e.message, times[e.message], e.attempt)
		}
	}
	if len(times) != calls {
		t.Errorf("the agent executed %d messages, want %d", len(times), calls)
	}
	r := p.b.records()
	r.settled(patience)
	r.sound(calls)
}

// callMany makes calls side by side; each must be answered with its own text.
func callMany(t *testing.T, c *caller, connections, calls int) {
	t.Helper()
	var next atomic.Int64
	g, ctx := errgroup.WithContext(t.Context())
	for range connections {
		g.Go(func() error {
			for i := next.Add(1); i <= int64(calls); i = next.Add(1) {
				text := fmt.Sprintf("call %d of many", i)
				got, err := c.tool(ctx, text, "")
				if err != nil {
					return fmt.Errorf("call %d: %w", i, err)
				}
				if got != echoed(text) {
					return fmt.Errorf("call %d was answered %q", i, got)
				}
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
}

// TestLargeMessageAcrossNodes: a message that NATS does not carry in one piece
// is as good as a small one.
func TestLargeMessageAcrossNodes(t *testing.T) {
	for name, link := range map[string]func(testing.TB) *natsServer{
		"mesh": func(testing.TB) *natsServer { return nil }, "external NATS": newNATS,
	} {
		t.Run(name, func(t *testing.T) {
			p := newPair(t, pgtest.URL(t), link(t))
			a := startAgent(t, "agent", spec{Name: "echo", Gateway: p.a.agents, Key: p.key, Identity: t.TempDir() + "/id.json"})
			p.b.online(p.key, a.id, true)
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			text := strings.Repeat(`"`, 1_000_000/2) // each takes two bytes in JSON
			got, err := newCaller(t, p.b, a.id, p.key, 1).tool(ctx, text, "")
			if err != nil || got != echoed(text) {
				t.Errorf("%d bytes came back, %v", len(got), err)
			}
		})
	}
}

// TestNodesThatStartTogetherMesh: neither finds the other in the database when
// it looks first.
func TestNodesThatStartTogetherMesh(t *testing.T) {
	database := "DATABASE_URL=" + pgtest.URL(t)
	var nodes []*node
	for i := range 3 {
		nodes = append(nodes, newNode(t, fmt.Sprintf("node %d", i), database, "BEEOS_CLUSTER_ADDR="+ports.Addr(t)))
	}
	key := nodes[0].owner() // makes the tables, so that nobody waits for them
	for _, n := range nodes {
		n.launch()
	}
	for _, n := range nodes {
		n.ready()
	}
	a := startAgent(t, "agent", spec{Name: "echo", Gateway: nodes[0].agents, Key: key, Identity: t.TempDir() + "/id.json"})
	for _, n := range nodes {
		n.online(key, a.id, true)
		if got, err := newCaller(t, n, a.id, key, 1).tool(t.Context(), "hello", ""); err != nil || got != echoed("hello") {
			t.Errorf("%s: %q, %v", n.name, got, err)
		}
	}
}

// TestNodeWithAgentDies: the caller waits at B, the agent works behind A, and A
// dies and comes back. The agent finds its way back and the caller its answer.
func TestNodeWithAgentDies(t *testing.T) {
	p := meshed(t)
	a := startAgent(t, "agent", spec{Name: "echo", Gateway: p.a.agents, Key: p.key, Identity: t.TempDir() + "/id.json"})
	p.b.online(p.key, a.id, true)

	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var g errgroup.Group
	c := newCaller(t, p.b, a.id, p.key, 8)
	for i := range 8 {
		g.Go(func() error {
			text := fmt.Sprintf("hold %d", i)
			if got, err := c.tool(ctx, text, ""); err != nil || got != echoed(text) {
				return fmt.Errorf("call %d: %q, %w", i, got, err)
			}
			return nil
		})
	}
	begun(t, 8, a)
	before := a.connections()
	p.a.proc.Kill()
	p.a.start()
	a.connected(before)
	a.release()
	if err := g.Wait(); err != nil {
		t.Error(err)
	}
	if n := len(a.executions()); n != 8 {
		t.Errorf("%d executions of 8 messages", n)
	}
	r := p.b.records()
	r.settled(patience)
	r.sound(8)
}

// TestWorkOfAKilledNodeGoesOn elsewhere, long before its leases end; that of a frozen
// one stays where it is.
func TestWorkOfAKilledNodeGoesOn(t *testing.T) {
	const (
		calls    = 8
		leastTTL = 10 * time.Second // what is left of a lease that is extended every five seconds
	)
	for name, killed := range map[string]bool{"killed": true, "frozen": false} {
		t.Run(name, func(t *testing.T) {
			p := meshed(t)
			began := time.Now()
			s := spec{Name: "echo", Gateway: p.a.agents, Key: p.key, Identity: t.TempDir() + "/id.json"}
			first := startAgent(t, "agent", s)
			p.b.online(p.key, first.id, true)
			ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
			defer cancel()
			pause(ctx, 17*time.Second-time.Since(began)) // until node B knows the sessions of others

			c := newCaller(t, p.b, first.id, p.key, calls)
			var g errgroup.Group
			for i := range calls {
				g.Go(func() error { return holdOne(ctx, c, i) })
			}
			begun(t, calls, first)
			s.Gateway = p.b.agents
			heir := startAgent(t, "heir", s)
			pause(ctx, 2*time.Second) // until node B has seen the session of node A
			began = time.Now()
			if killed {
				p.a.proc.Kill()
				first.Kill()
				begun(t, calls, heir)
				took := time.Since(began)
				if t.Logf("the heir has the work %s after kill -9", took.Round(time.Millisecond)); took > leastTTL-time.Second {
					t.Errorf("the heir has the work %s after kill -9: when the leases ended", took)
				}
				heir.release()
			} else {
				thaw := p.a.freeze()
				pause(ctx, leastTTL-2*time.Second)
				if n := len(heir.executions()); n > 0 {
					t.Errorf("%d requests of a node that is only silent were handed out again", n)
				}
				thaw()
				first.release()
			}
			if err := g.Wait(); err != nil {
				t.Error(err)
			}
			if n := len(first.executions()) + len(heir.executions()); !killed && n != calls {
				t.Errorf("%d executions of %d calls", n, calls)
			}
			r := p.b.records()
			r.settled(patience)
			r.sound(calls)
		})
	}
}
