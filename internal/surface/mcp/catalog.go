package mcp

import (
	"context"
	"sync"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/invoke"
	"github.com/beeos/beeos/internal/store"
)

const (
	unionFresh = 5 * time.Second // a change whose notice was lost shows after this
	catalogMax = 10_000          // agents kept ready
	loadWithin = 10 * time.Second
)

// catalog keeps what clients ask about agents ready to be written: an
// immutable snapshot per agent, rebuilt when the agent's fingerprint changes.
type catalog struct {
	db    *store.DB
	calls *invoke.Calls // knows the agents
	now   func() time.Time

	mu     sync.Mutex
	agents map[string]*server
	unions unions
}

func newCatalog(db *store.DB, calls *invoke.Calls, now func() time.Time) *catalog {
	return &catalog{db: db, calls: calls, now: now, agents: map[string]*server{}, unions: unions{byScope: map[string]*server{}}}
}

// server is one agent as it was read once. Its lists outlive it while the
// fingerprint stays the same, and with them the compiled schemas.
type server struct {
	agent *beeos.Agent
	lists *lists

	members []*server // of a union
	loaded  time.Time // of a union
}

// agent returns the agent and its lists. AgentNotFound comes from the store.
func (c *catalog) agent(ctx context.Context, id string) (*server, error) {
	a, err := c.calls.Agent(ctx, id)
	c.mu.Lock()
	old := c.agents[id]
	if err != nil {
		delete(c.agents, id)
	}
	c.mu.Unlock()
	switch {
	case err != nil:
		return nil, err
	case old != nil && old.agent == a:
		return old, nil
	}
	e := &server{agent: a}
	if old != nil && a.Fingerprint != "" && old.agent.Fingerprint == a.Fingerprint {
		e.lists = old.lists
	} else {
		e.lists = newLists(a)
	}
	c.keep(id, e)
	return e, nil
}

func (c *catalog) keep(id string, e *server) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.agents[id] = e
	for other := range c.agents { // any victim will do: its lists are made again
		if len(c.agents) <= catalogMax {
			break
		}
		if other != id {
			delete(c.agents, other)
		}
	}
}
