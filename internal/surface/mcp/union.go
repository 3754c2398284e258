package mcp

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/singleflight"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/access/auth"
	"github.com/beeos/beeos/internal/store"
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
	entries map[string]*entry
	round   uint64
}

// forget drops all of them: any agent may be new to any.
func (u *unions) forget() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.round++
	clear(u.entries)
}

// union returns what the caller reaches.
func (g *Gateway) union(ctx context.Context, caller beeos.Caller) (*entry, error) {
	scope := scopeOf(&caller)
	u := &g.unions
	u.mu.Lock()
	e := u.entries[scope]
	u.mu.Unlock()
	if e != nil && g.opt.Now().Sub(e.loaded) < fresh {
		return e, nil
	}
	loaded, err, _ := u.loads.Do(scope, func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), loadWithin)
		defer cancel()
		return g.loadUnion(ctx, caller, scope, e)
	})
	if err != nil {
		return nil, err
	}
	return loaded.(*entry), nil
}

func (g *Gateway) loadUnion(ctx context.Context, caller beeos.Caller, scope string, old *entry) (*entry, error) {
	u := &g.unions
	u.mu.Lock()
	round := u.round
	u.mu.Unlock()
	now := g.opt.Now()
	members, err := g.members(ctx, caller)
	if err != nil {
		return nil, err
	}
	e := &entry{loaded: now}
	if old != nil && slices.EqualFunc(old.members, members, sameEntry) {
		e.agent, e.lists, e.members = old.agent, old.lists, old.members
	} else {
		e.agent = &beeos.Agent{Name: "beeos", Definition: beeos.Definition{DisplayName: "BeeOS", Description: "All agents that this credential reaches; the names of tools and prompts begin with their agent's, the URIs of resources with beeos:// and their agent's name."}}
		e.lists, e.members = newUnion(e.agent, members), members
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.round != round {
		return e, nil // it may have changed meanwhile: good for this request only
	}
	for other := range u.entries {
		if len(u.entries) < unionMax {
			break
		}
		delete(u.entries, other)
	}
	u.entries[scope] = e
	return e, nil
}

// sameEntry reports whether nothing about an agent has changed, its quota and
// timeout included: the union's tools hold on to it.
func sameEntry(a, b *entry) bool {
	return a.lists == b.lists && a.agent.UpdatedAt.Equal(b.agent.UpdatedAt)
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

// members are the agents of the union, by slug.
func (g *Gateway) members(ctx context.Context, c beeos.Caller) ([]*entry, error) {
	yes := true
	f := store.AgentFilter{Active: &yes, MCPEnabled: &yes, Limit: unionAgents}
	switch {
	case c.IsAgentKey():
		f.IDs = []string{c.AgentID}
	case c.IsApp() && !c.AllAgents:
		f.IDs = append([]string{}, c.AgentIDs...)
	case c.IsApp(), c.IsPerson():
		f.OwnerID = c.UserID
	default:
		return nil, auth.Unknown()
	}
	agents, _, err := g.opt.DB.Agents(ctx, f)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(agents, func(a, b *beeos.Agent) int { return cmp.Or(cmp.Compare(a.Slug, b.Slug), cmp.Compare(a.ID, b.ID)) })
	var members []*entry
	for _, a := range agents {
		if !c.MayReach(a) {
			continue
		}
		e, err := g.catalog.agent(ctx, a.ID)
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
