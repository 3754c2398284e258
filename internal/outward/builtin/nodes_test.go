package builtin_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/internal/outward/builtin"
	"github.com/beeos/beeos/internal/outward/llm"
	"github.com/beeos/beeos/internal/store/builtins"
	"github.com/beeos/beeos/internal/wire/outbound"
)

// room is where nodes hear of each other.
type room struct {
	mu    sync.Mutex
	nodes map[string]*builtin.Supervisor
	lost  atomic.Bool // news do not arrive
}

func (r *room) tell(n builtin.News) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, rt := range r.nodes {
		if !r.lost.Load() {
			rt.Hear(n)
		}
	}
}

func (r *room) alive(_ context.Context, node string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.nodes[node] != nil
}

// join runs a second runtime beside the first one; leave ends it in order.
func (r *room) join(t *testing.T, s *stack, node string, model llm.Model) (rt *builtin.Supervisor, leave func()) {
	t.Helper()
	rt, err := builtin.New(t.Context(), builtin.Options{
		Agents: s.db.Agents, Builtins: s.db.Builtins, Cluster: s.db.Cluster, Gateway: s.Agents, Folder: t.TempDir(), Plain: true, Console: s.Web, HTTP: outbound.Transport(outbound.Options{AllowPrivate: true}), Model: model,
		Node: node, Alive: r.alive, Tell: r.tell,
	})
	if err != nil {
		t.Fatal(err)
	}
	r.mu.Lock()
	r.nodes[node] = rt
	r.mu.Unlock()
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- rt.Run(ctx) }()
	leave = sync.OnceFunc(func() {
		stop()
		<-done
		r.mu.Lock()
		delete(r.nodes, node)
		r.mu.Unlock()
	})
	t.Cleanup(leave)
	return rt, leave
}

// TestOneNodeRunsAnAgent: wherever it was made, stopped or deleted.
func TestOneNodeRunsAnAgent(t *testing.T) {
	r := &room{nodes: map[string]*builtin.Supervisor{}}
	model := func(node string) llm.Model {
		return llm.Script(func(llm.Request) []llm.Delta { return llm.Say(node) })
	}
	s := start(t, builtin.Options{Model: model("one"), Node: "one", Alive: r.alive, Tell: r.tell})
	r.mu.Lock()
	r.nodes["one"] = s.rt
	r.mu.Unlock()
	two, leave := r.join(t, s, "two", model("two"))

	row, _, err := two.Deploy(t.Context(), s.owner, builtin.Definition{Name: "clerk"}, nil, false)
	if err != nil {
		t.Fatal(err)
	}
	agentID := ""
	s.eventually(t, 20*time.Second, "it connects", func() bool {
		agentID = s.rt.AgentID(row.ID) + two.AgentID(row.ID)
		return agentID != ""
	})
	if s.rt.AgentID(row.ID) != "" && two.AgentID(row.ID) != "" {
		t.Error("both run it")
	}
	runs, err := s.db.Builtins.Get(t.Context(), "", row.ID)
	if err != nil || runs.Node == "" {
		t.Fatal(runs, err)
	}
	if a := s.ask(t, agentID, "", "go"); a.Text != runs.Node {
		t.Errorf("%s answered, %s runs it", a.Text, runs.Node)
	}

	// The other node stops it: by notice, not by the next look.
	other := two
	if runs.Node == "two" {
		other = s.rt
	}
	gone := func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond) // one that meets the end half way waits for its lease
		defer cancel()
		_, err := s.say(ctx, agentID, "", "go")
		return beeos.CodeOf(err) == beeos.AgentServiceUnavailable || beeos.CodeOf(err) == beeos.AgentNotFound
	}
	if err := other.SetStopped(t.Context(), s.owner, row.ID, true); err != nil {
		t.Fatal(err)
	}
	s.eventually(t, 2*time.Second, "it is stopped", gone)
	if err := other.SetStopped(t.Context(), s.owner, row.ID, false); err != nil {
		t.Fatal(err)
	}
	s.until(t, agentID, func(a *client.Answer, err error) bool { return err == nil && a.Text == runs.Node })

	// What is lost on the way is found by looking.
	r.lost.Store(true)
	if err := other.Change(t.Context(), s.owner, row.ID, builtin.Definition{Prompt: "new"}, nil); err != nil {
		t.Fatal(err)
	}
	s.eventually(t, 20*time.Second, "the change arrives", func() bool {
		now, err := s.db.Builtins.Get(t.Context(), "", row.ID)
		return err == nil && now.Node == runs.Node && s.rt.AgentID(row.ID)+two.AgentID(row.ID) != ""
	})
	r.lost.Store(false)

	// A node that leaves hands over what it runs.
	leave()
	s.until(t, agentID, func(a *client.Answer, err error) bool { return err == nil && a.Text == "one" })
	if err := s.rt.Delete(t.Context(), s.owner, row.ID); err != nil {
		t.Fatal(err)
	}
	s.eventually(t, 2*time.Second, "it is gone", gone)
}

// TestDeadNodesAgents: what a dead node ran goes to a live one, and what a live
// one runs stays there.
func TestDeadNodesAgents(t *testing.T) {
	alive := atomic.Bool{}
	alive.Store(true)
	s := start(t, builtin.Options{
		Model: llm.Script(func(llm.Request) []llm.Delta { return llm.Say("here") }), Node: "one",
		Alive: func(_ context.Context, node string) bool { return node != "dead" || alive.Load() },
		Tell:  func(builtin.News) {}, // the first look at the row is the claim below
	})
	row, err := s.rt.Create(t.Context(), s.owner, builtin.Definition{Name: "clerk"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	ok, err := s.db.Builtins.Claim(t.Context(), row.ID, "", "dead")
	if err == nil && !ok { // this node's first look was after all later than that
		ok, err = s.db.Builtins.Claim(t.Context(), row.ID, "one", "dead")
	}
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	s.rt.Hear(builtin.News{})
	s.eventually(t, 5*time.Second, "this node looks", func() bool {
		s.rt.Hear(builtin.News{})
		now, err := s.db.Builtins.Get(t.Context(), "", row.ID)
		return err == nil && now.Node == "dead" && s.rt.AgentID(row.ID) == ""
	})
	alive.Store(false)
	start := time.Now()
	s.eventually(t, 20*time.Second, "it is taken over", func() bool { return s.rt.AgentID(row.ID) != "" })
	if took := time.Since(start); took < time.Second {
		t.Errorf("taken over after %s: a node that is not meshed yet would take everything", took)
	}
	now, err := s.db.Builtins.Get(t.Context(), "", row.ID)
	if err != nil || now.Node != "one" {
		t.Errorf("%+v, %v", now, err)
	}
}

// TestChangesDoNotUndoEachOther: two at once, and both count.
func TestChangesDoNotUndoEachOther(t *testing.T) {
	s := start(t, builtin.Options{})
	row, err := s.rt.Create(t.Context(), s.owner, builtin.Definition{Name: "clerk"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for range 10 {
		var both sync.WaitGroup
		both.Go(func() {
			if err := s.rt.Change(t.Context(), s.owner, row.ID, builtin.Definition{Prompt: beeos.NewID()}, nil); err != nil {
				t.Error(err)
			}
		})
		both.Go(func() {
			if err := s.rt.SetStopped(t.Context(), s.owner, row.ID, true); err != nil {
				t.Error(err)
			}
		})
		both.Wait()
		var now builtins.Builtin
		if now, err = s.db.Builtins.Get(t.Context(), s.owner, row.ID); err != nil || !now.Stopped {
			t.Fatalf("%+v, %v", now, err)
		}
		if err := s.rt.Restart(t.Context(), s.owner, row.ID); err != nil {
			t.Fatal(err)
		}
	}
}

// eventually waits for something to become true.
func (s *stack) eventually(t *testing.T, within time.Duration, what string, fine func() bool) {
	t.Helper()
	for end := time.After(within); !fine(); {
		select {
		case <-end:
			t.Fatalf("not after %s: %s", within, what)
		case <-time.After(20 * time.Millisecond):
		}
	}
}
