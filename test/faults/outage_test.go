package faults

import (
	"context"
	"testing"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/test/pgtest"
)

// TestNATSGoesAway: nothing that is stored depends on NATS. Callers at B wait
// for an agent at A, NATS dies, the agent answers: B finds the answers in the
// database. Once NATS is back, so is everything else.
func TestNATSGoesAway(t *testing.T) {
	nats := newNATS(t)
	p := newPair(t, pgtest.URL(t), nats)
	a := startAgent(t, "agent", spec{Name: "echo", Gateway: p.a.agents, Key: p.key, Identity: t.TempDir() + "/id.json"})
	p.b.online(p.key, a.id, true)
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	const calls = 50
	c := newCaller(t, p.b, a.id, p.key, calls)
	answers := make(chan error, calls)
	for i := range calls {
		go func() { answers <- holdOne(ctx, c, i) }()
	}
	begun(t, calls, a)
	nats.proc.Kill()
	a.release()
	began := time.Now()
	for range calls {
		if err := <-answers; err != nil {
			t.Error(err)
		}
	}
	t.Logf("%d answers without NATS in %s", calls, time.Since(began).Round(time.Millisecond))
	fastest := time.Hour // of a few: the machine may be busy
	for range 5 {
		began = time.Now()
		if _, err := c.tool(ctx, "anybody there?", ""); beeos.CodeOf(err) != beeos.AgentServiceUnavailable {
			t.Errorf("a call at B without NATS: %v, want agent_service_unavailable", err)
		}
		fastest = min(fastest, time.Since(began))
	}
	if fastest > time.Second {
		t.Errorf("a call at B without NATS was refused after %s", fastest)
	}
	if _, err := newCaller(t, p.a, a.id, p.key, 1).tool(ctx, "you are here", ""); err != nil {
		t.Errorf("a call at A, where the agent is: %v", err)
	}
	nats.start()
	p.b.online(p.key, a.id, true)
	if _, err := c.tool(ctx, "back again", ""); err != nil {
		t.Errorf("a call at B with NATS back: %v", err)
	}
	r := p.a.records()
	r.settled(patience)
	r.sound(calls + 2)
}

// TestDatabaseCrashes: PostgreSQL dies under load and comes back. The nodes
// live through it; what was acknowledged is there.
func TestDatabaseCrashes(t *testing.T) {
	db := pgtest.Cluster(t, pgtest.Fsync)
	p := newPair(t, db.URL(t), nil)
	a := startAgent(t, "agent", spec{Name: "echo", Gateway: p.a.agents, Key: p.key, Identity: t.TempDir() + "/id.json", Again: beeos.RedeliverAlways})
	p.b.online(p.key, a.id, true)
	l := startLoad(t, p.b, a, p.key, beeos.InternalError)
	for range much(5, 3) {
		pause(t.Context(), 500*time.Millisecond)
		l.down()
		db.Crash(t)
		l.alive()
	}
	pause(t.Context(), 500*time.Millisecond)
	l.finish()
	l.check()
	for _, n := range []*node{p.a, p.b} {
		if took, code := n.proc.terminate(patience); code != 0 {
			t.Errorf("%s ended with code %d after %s", n.name, code, took)
		}
	}
}

// TestAgentGoneForGood: the only instance dies and does not come back. Its
// caller is told, well before the caller's own patience ends.
func TestAgentGoneForGood(t *testing.T) {
	t.Parallel() // it waits more than it works
	n := newNode(t, "server")
	key := n.owner()
	n.start()
	a := startAgent(t, "agent", spec{Name: "echo", Gateway: n.agents, Key: key, Identity: t.TempDir() + "/id.json"})
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	c := newCaller(t, n, a.id, key, 2)
	told := make(chan error, 2)
	go func() { _, err := c.tool(ctx, "hold one", ""); told <- err }()
	go func() { _, err := c.invoke(ctx, "hold two"); told <- err }()
	begun(t, 2, a)
	a.Kill()
	began := time.Now()
	for range 2 {
		err := <-told
		t.Logf("after %s: %v", time.Since(began).Round(100*time.Millisecond), err)
		if err == nil || ctx.Err() != nil {
			t.Errorf("a caller hears %v", err)
		}
	}
	if n := n.records().number(`SELECT count(*) FROM messages WHERE stop_reason = 'agent_lost'`); n != 2 {
		t.Errorf("%d requests are stored as lost, want 2", n)
	}
}
