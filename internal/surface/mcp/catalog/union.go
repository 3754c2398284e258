package catalog

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/singleflight"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/access/auth"
	agentstore "github.com/beeos/beeos/internal/store/agents"
)

// POST /mcp is one server for all agents that a credential reaches: what they
// have, each with its agent's slug before its name (merge.go). To the rest of
// this package it is an agent without an id.

const (
	unionMax    = 1000 // callers whose union is kept ready
	unionAgents = 500  // agents of one caller
)

// unions keeps the union of each caller, like catalog does each agent's lists.
type unions struct {
	loads   singleflight.Group
	mu      sync.Mutex
	byScope map[string]*Server
	round   uint64
}

// ForgetUnions drops all of them: any agent may be new to any.
func (c *Catalog) ForgetUnions() {
	u := &c.unions
	u.mu.Lock()
	defer u.mu.Unlock()
	u.round++
	clear(u.byScope)
}

// Union returns what the caller reaches.
func (c *Catalog) Union(ctx context.Context, caller beeos.Caller) (*Server, error) {
	scope := scopeOf(&caller)
	u := &c.unions
	u.mu.Lock()
	e := u.byScope[scope]
	u.mu.Unlock()
	if e != nil && c.now().Sub(e.loaded) < unionFresh {
		return e, nil
	}
	loaded, err, _ := u.loads.Do(scope, func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), loadWithin)
		defer cancel()
		return c.loadUnion(ctx, caller, scope, e)
	})
	if err != nil {
		return nil, err
	}
	return loaded.(*Server), nil
}

func (c *Catalog) loadUnion(ctx context.Context, caller beeos.Caller, scope string, old *Server) (*Server, error) {
	u := &c.unions
	u.mu.Lock()
	round := u.round
	u.mu.Unlock()
	now := c.now()
	members, err := c.unionMembers(ctx, caller)
	if err != nil {
		return nil, err
	}
	e := &Server{loaded: now}
	if old != nil && slices.EqualFunc(old.members, members, sameEntry) {
		e.Agent, e.Lists, e.members = old.Agent, old.Lists, old.members
	} else {
		e.Agent = &beeos.Agent{Name: "beeos", Definition: beeos.Definition{DisplayName: "BeeOS", Description: "All agents that this credential reaches; the names of tools and prompts begin with their agent's, the URIs of resources with beeos:// and their agent's name."}}
		e.Lists, e.members = newUnion(e.Agent, members), members
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.round != round {
		return e, nil // it may have changed meanwhile: good for this request only
	}
	makeRoom(u.byScope, unionMax)
	u.byScope[scope] = e
	return e, nil
}

// sameEntry reports whether nothing about an agent has changed, its quota and
// timeout included: the union's tools hold on to it.
func sameEntry(a, b *Server) bool {
	return a.Lists == b.Lists && a.Agent.UpdatedAt.Equal(b.Agent.UpdatedAt)
}

// scopeOf names what decides over a caller's union.
func scopeOf(c *beeos.Caller) string {
	switch {
	case c.IsAgentKey():
		return "agent " + c.AgentID
	case c.IsApp() && !c.AllAgents:
		return "agents " + c.UserID + " " + strings.Join(c.AgentIDs, " ")
	case c.IsApp(), c.IsPerson():
		return "user " + c.UserID
	}
	return c.Principal()
}

// unionMembers are the agents of the union, by slug.
func (c *Catalog) unionMembers(ctx context.Context, caller beeos.Caller) ([]*Server, error) {
	yes := true
	f := agentstore.Filter{Active: &yes, MCPEnabled: &yes, Limit: unionAgents}
	switch {
	case caller.IsAgentKey():
		f.IDs = []string{caller.AgentID}
	case caller.IsApp() && !caller.AllAgents:
		f.IDs = append([]string{}, caller.AgentIDs...)
	case caller.IsApp(), caller.IsPerson():
		f.OwnerID = caller.UserID
	default:
		return nil, auth.RefuseCredential()
	}
	agents, _, err := c.table.List(ctx, f)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(agents, func(a, b *beeos.Agent) int { return cmp.Or(cmp.Compare(a.Slug, b.Slug), cmp.Compare(a.ID, b.ID)) })
	var members []*Server
	for _, a := range agents {
		if !caller.MayReach(a) {
			continue
		}
		e, err := c.Agent(ctx, a.ID)
		if beeos.CodeOf(err) == beeos.AgentNotFound && err != nil {
			continue // deleted since
		}
		if err != nil {
			return nil, err
		}
		members = append(members, e)
	}
	return members, nil
}
