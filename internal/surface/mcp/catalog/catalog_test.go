package catalog

import (
	"crypto/ed25519"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/invoke"
	agentstore "github.com/beeos/beeos/internal/store/agents"
	"github.com/beeos/beeos/test/enginetest"
)

// TestCatalog: a change shows with its agent; what did not change keeps its
// compiled schemas.
func TestCatalog(t *testing.T) {
	c, owner := newTestCatalog(t)
	ctx := t.Context()
	id := agentNamed(t, c, owner, "clerk").ID
	get := func() *Server {
		t.Helper()
		e, err := c.Agent(ctx, id)
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	first := get()
	off := false
	if _, err := c.table.Update(ctx, id, agentstore.Patch{SelfTool: &off}); err != nil {
		t.Fatal(err)
	}
	if get() != first {
		t.Error("a fresh entry was loaded again")
	}
	c.calls.Forget(id)
	second := get()
	if slices.Contains(toolNames(t, second.Lists), id) {
		t.Error("the old list after forget")
	}
	c.calls.Forget(id)
	if third := get(); third == second || third.Lists != second.Lists {
		t.Error("lists of the same fingerprint were built twice")
	}
	if err := c.table.Delete(ctx, id); err != nil {
		t.Fatal(err)
	}
	c.calls.Forget(id)
	if _, err := c.Agent(ctx, id); beeos.CodeOf(err) != beeos.AgentNotFound {
		t.Errorf("a deleted agent: %v", err)
	}
	if len(c.agents) != 0 {
		t.Error("a deleted agent stays in memory")
	}
}

func TestCatalogConcurrently(t *testing.T) {
	c, owner := newTestCatalog(t)
	ids := []string{agentNamed(t, c, owner, "clerk").ID, agentNamed(t, c, owner, "talker").ID}
	var working sync.WaitGroup
	for i := range 8 {
		working.Go(func() {
			for n := range 50 {
				for _, id := range ids {
					if _, err := c.Agent(t.Context(), id); err != nil {
						t.Error(err)
					}
					if (n+i)%7 == 0 {
						c.calls.Forget(id)
						c.ForgetUnions()
					}
				}
			}
		})
	}
	working.Wait()
}

// TestUnionOfMany: too many tools to list are found and called by two.
// TestUnionHearsOfQuotas: a change that touches no list, and of which nobody
// was told, is there when the cached union has grown old.
func TestUnionHearsOfQuotas(t *testing.T) {
	c, owner := newTestCatalog(t)
	caller := beeos.Caller{Kind: beeos.ByUserKey, UserID: owner}
	old, err := c.Union(t.Context(), caller)
	if err != nil {
		t.Fatal(err)
	}
	clerk, quota := agentNamed(t, c, owner, "clerk").ID, 7
	if _, err := c.table.Update(t.Context(), clerk, agentstore.Patch{RateLimit: &quota}); err != nil {
		t.Fatal(err)
	}
	c.calls.Forget(clerk)
	e, err := c.loadUnion(t.Context(), caller, scopeOf(&caller), old)
	if err != nil {
		t.Fatal(err)
	}
	if got := e.Lists.ToolByName["clerk__web_search"].Agent.RateLimit; got != quota {
		t.Errorf("the union calls with a quota of %d, want %d", got, quota)
	}
}

// newTestCatalog is a catalog on real stores, in which owner has two agents.
func newTestCatalog(t *testing.T) (c *Catalog, owner string) {
	t.Helper()
	ctx := t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	db, b, l := enginetest.Open(t)
	user := beeos.User{ID: beeos.NewID(), Email: "owner@example.com", Name: "owner", CreatedAt: time.Now()}
	must(db.People.CreateUser(ctx, user))
	public, _, err := ed25519.GenerateKey(nil)
	must(err)
	instance := beeos.Instance{ID: "inst_" + beeos.NewID(), OwnerID: user.ID, Name: "here", PublicKey: public, CreatedAt: time.Now()}
	must(db.Instances.Create(ctx, instance))
	_, err = db.Agents.Sync(ctx, instance, []beeos.Definition{{Name: "clerk", Skills: []beeos.Skill{{Name: "web_search"}}}, {Name: "talker"}})
	must(err)
	return New(db.Agents, invoke.New(invoke.Options{Agents: db.Agents, Approvals: db.Approvals, Cluster: db.Cluster, Ledger: l, Bus: b}), time.Now), user.ID
}

func agentNamed(t *testing.T, c *Catalog, owner, name string) *beeos.Agent {
	t.Helper()
	agents, _, err := c.table.List(t.Context(), agentstore.Filter{OwnerID: owner, Limit: 10})
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(agents, func(a *beeos.Agent) bool { return a.Name == name })
	if i < 0 {
		t.Fatalf("no agent %s", name)
	}
	return agents[i]
}
