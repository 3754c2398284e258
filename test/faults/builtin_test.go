package faults

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/internal/outward/builtin"
	"github.com/beeos/beeos/test/pgtest"
)

// TestBuiltinAgentOverTwoNodes: the node runs it that it belongs to, either may
// change it, and when the one that runs it is killed the other takes over.
func TestBuiltinAgentOverTwoNodes(t *testing.T) {
	p := newPair(t, pgtest.URL(t), nil, "LLM_PROVIDER=scripted")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	made, err := client.New(p.b.rest, p.key).Deploy(ctx, client.Deployment{Name: "clerk", Prompt: "Be brief."}, false)
	if err != nil || made.Outcome != "created" {
		t.Fatalf("%+v, %v", made, err)
	}
	agentID := appears(ctx, t, p, "clerk")
	runs, other := p.settled(ctx, t, made.ID, 2)
	p.a.online(p.key, agentID, true)
	p.b.online(p.key, agentID, true)
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
	took := time.Since(began)
	if t.Logf("the other node answers %s after kill -9", took.Round(time.Millisecond)); took > 2*5*time.Second { // half of it on a machine that is not busy
		t.Errorf("the other node answers %s after kill -9", took)
	}
	if now, _ := p.settled(ctx, t, made.ID, 1); now != other {
		t.Errorf("it is run by %s", now.name)
	}

	// The node that comes back may get it again: it is another one by its name.
	runs.start()
	runs, other = p.settled(ctx, t, made.ID, 2)
	t.Logf("with both nodes back it is run by %s", runs.name)
	if err := client.New(other.rest, p.key).RunInstance(ctx, made.ID, "restart"); err != nil {
		t.Fatal(err)
	}
	answers(ctx, t, client.New(other.rest, p.key), agentID)

	// One that leaves in order hands it over, and no call fails.
	calling, calls := errgroup.Group{}, 0
	left := make(chan struct{})
	calling.Go(func() error {
		for last := false; !last; calls++ {
			select {
			case <-left:
				last = true
			default:
			}
			if a, err := client.New(other.rest, p.key).Invoke(ctx, agentID, client.InvokeRequest{Message: "hello"}); err != nil || a.IsError {
				return fmt.Errorf("call %d: %+v, %v", calls, a, err)
			}
		}
		return nil
	})
	began = time.Now()
	if _, code := runs.proc.terminate(patience); code != 0 {
		t.Errorf("exit code %d", code)
	}
	t.Logf("handed over within %s", time.Since(began).Round(time.Millisecond))
	close(left)
	if err := calling.Wait(); err != nil {
		t.Error(err)
	}
	t.Logf("%d calls meanwhile", calls)
	if err := client.New(other.rest, p.key).DestroyInstance(ctx, made.ID); err != nil {
		t.Fatal(err)
	}
	for {
		if list, err := client.New(other.rest, p.key).Agents(ctx); err != nil || len(list) == 0 || !list[0].Online {
			break
		}
		if !pause(ctx, 10*time.Millisecond) {
			t.Fatal("it is still there")
		}
	}
}

// settled waits until a built-in agent is run by the one of so many living nodes that it
// belongs to, and returns that one and the other.
func (p pair) settled(ctx context.Context, t *testing.T, id string, living int) (runs, other *node) {
	t.Helper()
	db := p.a.open()
	for {
		if _, err := db.ReadClock(ctx); err != nil {
			t.Fatal(err)
		}
		row, err := db.Builtins.Get(ctx, "", id)
		if err != nil {
			t.Fatal(err)
		}
		nodes, err := db.Cluster.ListNodes(ctx, time.Time{})
		if err != nil {
			t.Fatal(err)
		}
		var ids []string
		route := ""
		for _, n := range nodes {
			if !db.Cluster.IsSilent(n) {
				ids = append(ids, n.ID)
			}
			if n.ID == row.Node {
				route = n.RouteURL
			}
		}
		switch {
		case len(ids) != living || row.Node != builtin.NodeFor(id, ids):
		case strings.HasSuffix(route, p.a.setting("BEEOS_CLUSTER_ADDR")):
			return p.a, p.b
		case strings.HasSuffix(route, p.b.setting("BEEOS_CLUSTER_ADDR")):
			return p.b, p.a
		}
		if !pause(ctx, 20*time.Millisecond) {
			t.Fatalf("it is run by %q of %v", row.Node, nodes)
		}
	}
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
