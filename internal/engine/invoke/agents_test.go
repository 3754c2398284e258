package invoke

import (
	"crypto/ed25519"
	"sync"
	"testing"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/bus"
	agentstore "github.com/beeos/beeos/internal/store/agents"
)

// TestAgent: a change shows at once when the bus tells of it, and by itself
// after a while.
func TestAgent(t *testing.T) {
	var mu sync.Mutex
	clock := time.Now()
	n := lone(t, func(o *Options) {
		o.Now = func() time.Time { mu.Lock(); defer mu.Unlock(); return clock }
	})
	db := n.db
	ctx := t.Context()
	id := n.synced(t, beeos.Definition{Name: "a"})
	change := func(limit int) {
		t.Helper()
		if _, err := db.Agents.Update(ctx, id, agentstore.Patch{RateLimit: &limit}); err != nil {
			t.Fatal(err)
		}
	}
	expect := func(when string, limit int) {
		t.Helper()
		if a, err := n.Agent(ctx, id); err != nil || a.RateLimit != limit {
			t.Errorf("%s it is %+v, %v; want a limit of %d", when, a, err, limit)
		}
	}
	change(1)
	expect("at first", 1)
	change(2)
	expect("a moment later", 1)
	n.bus.Control(bus.Control{Kind: bus.AgentChanged, AgentID: id})
	expect("after news", 2)
	change(3)
	mu.Lock()
	clock = clock.Add(agentFresh)
	mu.Unlock()
	expect("after a while", 3)
	if err := db.Agents.Delete(ctx, id); err != nil {
		t.Fatal(err)
	}
	n.Forget(id)
	if _, err := n.Agent(ctx, id); beeos.CodeOf(err) != beeos.AgentNotFound {
		t.Errorf("deleted: %v", err)
	}
}

// synced stores an agent as its connection would, and returns its id.
func (n *node) synced(t *testing.T, d beeos.Definition) string {
	t.Helper()
	ctx := t.Context()
	if err := n.db.People.CreateUser(ctx, beeos.User{ID: "u", Email: "u@example.com", Name: "u"}); err != nil {
		t.Fatal(err)
	}
	public, _, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	i := beeos.Instance{ID: "i", OwnerID: "u", Name: "i", PublicKey: public, CreatedAt: time.Now()}
	if err := n.db.Instances.Create(ctx, i); err != nil {
		t.Fatal(err)
	}
	agents, err := n.db.Agents.Sync(ctx, i, []beeos.Definition{d})
	if err != nil {
		t.Fatal(err)
	}
	return agents.IDs()[d.Name]
}
