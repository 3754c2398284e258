// Package catalog is what agents have to offer MCP clients: tools, resources,
// prompts and skills, kept per agent as bytes that are ready to be written,
// with the indexes that calls are looked up in. The agents that one credential
// reaches are merged into a union, which looks like one more agent.
package catalog

import (
	"context"
	"sync"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/invoke"
	"github.com/beeos/beeos/internal/store/agents"
)

const (
	unionFresh = 5 * time.Second // a change whose notice was lost shows after this
	catalogMax = 10_000          // agents kept ready
	loadWithin = 10 * time.Second
)

// Catalog keeps what clients ask about agents ready to be written: an
// immutable snapshot per agent, rebuilt when the agent's fingerprint changes.
type Catalog struct {
	table *agents.Table
	calls *invoke.Calls // knows the agents
	now   func() time.Time

	mu     sync.Mutex
	agents map[string]*Server
	unions unions
}

func New(table *agents.Table, calls *invoke.Calls, now func() time.Time) *Catalog {
	return &Catalog{table: table, calls: calls, now: now, agents: map[string]*Server{}, unions: unions{byScope: map[string]*Server{}}}
}

// Server is one agent as it was read once. Its lists outlive it while the
// fingerprint stays the same, and with them the compiled schemas.
type Server struct {
	Agent *beeos.Agent
	Lists *Lists

	members []*Server // of a union
	loaded  time.Time // of a union
}

// Agent returns the agent and its lists. AgentNotFound comes from the store.
func (c *Catalog) Agent(ctx context.Context, id string) (*Server, error) {
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
	case old != nil && old.Agent == a:
		return old, nil
	}
	e := &Server{Agent: a}
	if old != nil && a.Fingerprint != "" && old.Agent.Fingerprint == a.Fingerprint {
		e.Lists = old.Lists
	} else {
		e.Lists = newLists(a)
	}
	c.keep(id, e)
	return e, nil
}

func (c *Catalog) keep(id string, e *Server) {
	c.mu.Lock()
	defer c.mu.Unlock()
	makeRoom(c.agents, catalogMax)
	c.agents[id] = e
}

// makeRoom makes room for one more. Any victim will do: what it had is made
// again.
func makeRoom(kept map[string]*Server, most int) {
	for victim := range kept {
		if len(kept) < most {
			return
		}
		delete(kept, victim)
	}
}
