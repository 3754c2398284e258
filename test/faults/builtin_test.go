package faults

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/test/pgtest"
)

// TestBuiltinAgentOverTwoNodes: one node runs it, either may change it, and
// when the one that runs it is killed the other takes over.
func TestBuiltinAgentOverTwoNodes(t *testing.T) {
	p := newPair(t, pgtest.URL(t), nil, "LLM_PROVIDER=scripted")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	made, err := client.New(p.b.rest, p.key).Deploy(ctx, client.Deployment{Name: "clerk", Prompt: "Be brief."}, false)
	if err != nil || made.Outcome != "created" {
		t.Fatalf("%+v, %v", made, err)
	}
	agentID := appears(ctx, t, p, "clerk")
	p.a.online(p.key, agentID, true)
	p.b.online(p.key, agentID, true)
	runs, other := p.runner(ctx, t, made.ID)
	t.Logf("made at node B, run by %s", runs.name)

	cl := client.New(other.rest, p.key)
	for _, step := range []struct {
		act    string
		online bool
	}{{"stop", false}, {"start", true}, {"restart", true}} {
		began := time.Now()
		if err := cl.RunInstance(ctx, made.ID, step.act); err != nil {
			t.Fatal(err)
		}
		p.a.online(p.key, agentID, step.online)
		p.b.online(p.key, agentID, step.online)
		// Who asks about a far agent may hear what was so two seconds ago.
		t.Logf("%s at the other node took %s", step.act, time.Since(began).Round(time.Millisecond))
	}
	answers(ctx, t, cl, agentID)

	began := time.Now()
	runs.proc.Kill()
	other.online(p.key, agentID, false) // else both ran it
	other.online(p.key, agentID, true)
	answers(ctx, t, cl, agentID)
	t.Logf("the other node answers %s after kill -9", time.Since(began).Round(time.Millisecond))
	if now, _ := p.runner(ctx, t, made.ID); now != other {
		t.Errorf("it is run by %s", now.name)
	}

	// The node that comes back leaves it where it is.
	runs.start()
	runs.online(p.key, agentID, true)
	if err := client.New(runs.rest, p.key).RunInstance(ctx, made.ID, "restart"); err != nil {
		t.Fatal(err)
	}
	answers(ctx, t, client.New(runs.rest, p.key), agentID)
	if now, _ := p.runner(ctx, t, made.ID); now != other {
		t.Errorf("it went back to %s", now.name)
	}

	// One that leaves in order hands it over.
	began = time.Now()
	if _, code := other.proc.terminate(patience); code != 0 {
		t.Errorf("exit code %d", code)
	}
	answers(ctx, t, client.New(runs.rest, p.key), agentID)
	t.Logf("handed over within %s", time.Since(began).Round(time.Millisecond))
	if err := client.New(runs.rest, p.key).DestroyInstance(ctx, made.ID); err != nil {
		t.Fatal(err)
	}
	for {
		if list, err := client.New(runs.rest, p.key).Agents(ctx); err != nil || len(list) == 0 || !list[0].Online {
			break
		}
		if !pause(ctx, 10*time.Millisecond) {
			t.Fatal("it is still there")
		}
	}
}

// runner returns which node runs a built-in agent, and the other one.
func (p pair) runner(ctx context.Context, t *testing.T, id string) (runs, other *node) {
	t.Helper()
	db := p.a.open()
	row, err := db.Builtins.Get(ctx, "", id)
	if err != nil {
		t.Fatal(err)
	}
	nodes, err := db.Cluster.ListNodes(ctx, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range nodes {
		switch {
		case n.ID != row.Node:
		case strings.HasSuffix(n.RouteURL, p.a.setting("BEEOS_CLUSTER_ADDR")):
			return p.a, p.b
		case strings.HasSuffix(n.RouteURL, p.b.setting("BEEOS_CLUSTER_ADDR")):
			return p.b, p.a
		}
	}
	t.Fatalf("nobody runs it: %+v, nodes %+v", row.Node, nodes)
	return nil, nil
}

// appears returns the id of an agent once it has connected for the first time.
func appears(ctx context.Context, t *testing.T, p pair, name string) string {
	t.Helper()
	for {
		if a, err := client.New(p.a.rest, p.key).Find(ctx, name); err == nil {
			return a.ID
		}
		if !pause(ctx, 10*time.Millisecond) {
			t.Fatalf("agent %s does not connect", name)
		}
	}
}

// answers asks until there is an answer: one that meets a change half way is
// lost with it.
func answers(ctx context.Context, t *testing.T, cl *client.Client, agentID string) {
	t.Helper()
	for {
		short, cancel := context.WithTimeout(ctx, time.Second)
		a, err := cl.Invoke(short, agentID, client.InvokeRequest{Message: "hello"})
		cancel()
		if err == nil && !a.IsError {
			return
		}
		if !pause(ctx, 20*time.Millisecond) {
			t.Fatalf("no answer: %+v, %v", a, err)
		}
	}
}
