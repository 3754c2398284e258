package invoke

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/bus"
)

const (
	agentFresh  = 5 * time.Second // a change whose notice was lost shows after this
	agentsKept  = 10_000
	agentWithin = 10 * time.Second
)

// agentCache keeps those ready that are called: reading one costs a quarter of a
// call.
type agentCache struct {
	reads singleflight.Group
	mu    sync.Mutex
	known map[string]knownAgent
	round uint64 // rises with every forget: what was read before it is stale
}

type knownAgent struct {
	agent *beeos.Agent
	read  time.Time
}

// Agent returns an agent as it was a moment ago: a change shows when the bus
// has told of it. What is returned is shared, and must not be changed.
func (c *Calls) Agent(ctx context.Context, id string) (*beeos.Agent, error) {
	c.agents.mu.Lock()
	k := c.agents.known[id]
	c.agents.mu.Unlock()
	if k.agent != nil && c.opt.Now().Sub(k.read) < agentFresh {
		return k.agent, nil
	}
	// Several callers may wait for this, so none of them may cancel it.
	a, err, _ := c.agents.reads.Do(id, func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), agentWithin)
		defer cancel()
		return c.readAgent(ctx, id)
	})
	if err != nil {
		return nil, err
	}
	return a.(*beeos.Agent), nil
}

func (c *Calls) readAgent(ctx context.Context, id string) (*beeos.Agent, error) {
	c.agents.mu.Lock()
	round := c.agents.round
	c.agents.mu.Unlock()
	now := c.opt.Now()
	a, err := c.opt.Agents.Get(ctx, id)
	c.agents.mu.Lock()
	defer c.agents.mu.Unlock()
	switch {
	case err != nil:
		delete(c.agents.known, id)
		return nil, err
	case c.agents.round != round: // it may have changed meanwhile: good for this call only
		return a, nil
	case len(c.agents.known) >= agentsKept:
		clear(c.agents.known) // they come back at a query each
	}
	c.agents.known[id] = knownAgent{a, now}
	return a, nil
}

// Forget has the next call read the agent again: it has changed.
func (c *Calls) Forget(agentID string) {
	c.agents.mu.Lock()
	defer c.agents.mu.Unlock()
	c.agents.round++
	c.agents.reads.Forget(agentID)
	delete(c.agents.known, agentID)
}

func (c *Calls) onControl(m bus.Control) {
	switch m.Kind {
	case bus.AgentChanged:
		c.Forget(m.AgentID)
	case bus.AgentAway:
		c.TellAway(m.ID)
	case bus.BudgetsChanged:
		c.opt.Budgets.Changed()
	}
}
