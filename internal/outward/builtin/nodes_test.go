package builtin_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/internal/outward/builtin"
	"github.com/beeos/beeos/internal/outward/llm"
	"github.com/beeos/beeos/internal/store"
	"github.com/beeos/beeos/internal/store/builtins"
	"github.com/beeos/beeos/internal/store/cluster"
	"github.com/beeos/beeos/internal/store/storetest"
	"github.com/beeos/beeos/internal/wire/outbound"
)

// room is where nodes hear of each other.
type room struct {
	mu    sync.Mutex
	nodes map[string]*builtin.Supervisor
	away  map[string]bool // are not heard for a while
	lost  atomic.Bool     // news do not arrive
}

func newRoom() *room { return &room{nodes: map[string]*builtin.Supervisor{}, away: map[string]bool{}} }

func (r *room) tell(n builtin.News) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, rt := range r.nodes {
		if !r.lost.Load() {
			rt.Hear(n)
		}
	}
}

func (r *room) alive(_ context.Context, node string) (bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.nodes[node] != nil && !r.away[node], nil
}

func (r *room) set(node string, rt *builtin.Supervisor) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.nodes[node] = rt; rt == nil {
		delete(r.nodes, node)
	}
}

// beats says that a node is alive, until stop is called or it cannot any more.
func beats(t *testing.T, db *store.Store, node string) (stop func()) {
	t.Helper()
	beat := func() error {
		return db.Cluster.PutNode(context.Background(), cluster.Node{ID: node, SeenAt: db.Now()})
	}
	if err := beat(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() {
		tick := time.NewTicker(cluster.BeatEvery)
		defer tick.Stop()
		for err := error(nil); err == nil; {
			select {
			case <-tick.C:
				err = beat()
			case <-ctx.Done():
				return
			}
		}
	})
	stop = func() {
		cancel()
		done.Wait()
	}
	t.Cleanup(stop)
	return stop
}

// member is a node that runs built-in agents beside the stack's own.
type member struct {
	*builtin.Supervisor
	leave func() // in order, as a server that stops does
	kill  func() // says nothing to anybody
}

// join runs a further node beside the first one.
func (r *room) join(t *testing.T, s *stack, node string, model llm.Model) *member {
	t.Helper()
	db := storetest.Open(t, s.dsn)
	rest := beats(t, db, node)
	opt := builtin.Options{
		Agents: db.Agents, Builtins: db.Builtins, Cluster: db.Cluster, Gateway: s.Agents, Folder: t.TempDir(), Plain: true, Console: s.Web, HTTP: outbound.Transport(outbound.Options{AllowPrivate: true}), Model: model,
		Node: node,
	}
	if r != nil {
		opt.Alive, opt.Tell, opt.Leave = r.alive, r.tell, func() { r.setAway(node, true) }
	}
	rt, err := builtin.New(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	if r != nil {
		r.set(node, rt)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- rt.Run(ctx) }()
	end := sync.OnceFunc(func() {
		stop()
		<-done
		rest()
		if r != nil {
			r.set(node, nil)
		}
	})
	t.Cleanup(end)
	return &member{Supervisor: rt, kill: func() {
		rest()
		if r != nil {
			r.set(node, nil)
		}
		db.Close() // it cannot give back what it has
		end()
	}, leave: func() {
		rt.HandOver(t.Context())
		end()
		if err := s.db.Cluster.DropNode(t.Context(), node); err != nil {
			t.Error(err)
		}
	}}
}

func (r *room) setAway(node string, away bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.away[node] = away
}

// TestOneNodeRunsAnAgent: wherever it was made, stopped or deleted.
func TestOneNodeRunsAnAgent(t *testing.T) {
	r := newRoom()
	model := func(node string) llm.Model {
		return llm.Script(func(llm.Request) []llm.Delta { return llm.Say(node) })
	}
	s := start(t, builtin.Options{Model: model("one"), Node: "one", Alive: r.alive, Tell: r.tell})
	r.set("one", s.rt)
	beats(t, s.db, "one")
	two := r.join(t, s, "two", model("two"))

	row, _, err := two.Deploy(t.Context(), s.owner, builtin.Definition{Name: "clerk"}, nil, false)
	if err != nil {
		t.Fatal(err)
	}
	agentID := ""
	var runs builtins.Builtin
	s.eventually(t, 20*time.Second, "it runs where it belongs", func() bool {
		if runs, err = s.db.Builtins.Get(t.Context(), "", row.ID); err != nil {
			t.Fatal(err)
		}
		one, other := s.rt.AgentID(row.ID), two.AgentID(row.ID)
		agentID = one + other
		return agentID != "" && (one == "" || other == "") && runs.Node == builtin.NodeFor(row.ID, []string{"one", "two"})
	})
	if a := s.ask(t, agentID, "", "go"); a.Text != runs.Node {
		t.Errorf("%s answered, %s runs it", a.Text, runs.Node)
	}

	// The other node stops it: by notice, not by the next look.
	other := two.Supervisor
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
	two.leave()
	s.until(t, agentID, func(a *client.Answer, err error) bool { return err == nil && a.Text == "one" })
	if err := s.rt.Delete(t.Context(), s.owner, row.ID); err != nil {
		t.Fatal(err)
	}
	s.eventually(t, 2*time.Second, "it is gone", gone)
}

// TestDeadNodesAgents: what a dead node ran goes to a live one. A node that is
// missing on the bus alone, or that the database alone has not heard of, keeps its
// agents.
func TestDeadNodesAgents(t *testing.T) {
	alive := atomic.Bool{}
	alive.Store(true)
	s := start(t, builtin.Options{
		Model: llm.Script(func(llm.Request) []llm.Delta { return llm.Say("here") }), Node: "one",
		Alive: func(_ context.Context, node string) (bool, error) { return node == "other" && alive.Load(), nil },
		Tell:  func(builtin.News) {}, // the first look at the row is the claim below
	})
	die := beats(t, s.db, "other")
	row, err := builtins.Builtin{}, error(nil)
	for i := 0; row.ID == "" || builtin.NodeFor(row.ID, []string{"one", "other"}) != "other"; i++ {
		if row, err = s.rt.Create(t.Context(), s.owner, builtin.Definition{Name: fmt.Sprint("clerk-", i)}, nil); err != nil {
			t.Fatal(err)
		}
	}
	for _, from := range []string{"", "one"} { // which may have been faster
		if _, err := s.db.Builtins.Claim(t.Context(), row.ID, from, "other"); err != nil {
			t.Fatal(err)
		}
	}
	stays := func(why string) {
		t.Helper()
		for end := time.Now().Add(5 * time.Second); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
			s.rt.Hear(builtin.News{})
			if now, err := s.db.Builtins.Get(t.Context(), "", row.ID); err != nil || now.Node != "other" {
				t.Fatalf("%s: run by %q, %v", why, now.Node, err)
			}
		}
	}
	alive.Store(false)
	stays("it is not heard on the bus")
	alive.Store(true)
	die()
	stays("the database has not heard of it")
	alive.Store(false)
	began := time.Now()
	s.eventually(t, 20*time.Second, "it is taken over", func() bool { return s.rt.AgentID(row.ID) != "" })
	if took := time.Since(began); took < time.Second || took > 5*time.Second {
		t.Errorf("taken over after %s", took)
	}
	if now, err := s.db.Builtins.Get(t.Context(), "", row.ID); err != nil || now.Node != "one" {
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
