package a2agw

import (
	"context"
	"sync"
	"time"

	"github.com/beeos/beeos"
)

const (
	agentFresh = 5 * time.Second // a change whose notice was lost shows after this
	agentsKept = 10_000
)

// agents keeps agents that are being called ready, so that a call need not
// read them.
type agents struct {
	mu    sync.Mutex
	known map[string]knownAgent
	round uint64 // rises with every forget: what was read before it is stale
}

type knownAgent struct {
	*beeos.Agent
	read time.Time
}

// agent gives one answer for what does not exist and for what is not an id.
func (g *Gateway) agent(ctx context.Context, id string) (*beeos.Agent, error) {
	now := g.opt.Now()
	g.agents.mu.Lock()
	k, round := g.agents.known[id], g.agents.round
	g.agents.mu.Unlock()
	if k.Agent != nil && now.Sub(k.read) < agentFresh {
		return k.Agent, nil
	}
	a, err := g.opt.DB.Agent(ctx, id)
	if err != nil {
		g.Forget(id)
		if beeos.CodeOf(err) == beeos.AgentNotFound {
			err = unknownAgent()
		}
		return nil, err
	}
	g.agents.mu.Lock()
	defer g.agents.mu.Unlock()
	if g.agents.round == round {
		if len(g.agents.known) >= agentsKept {
			clear(g.agents.known)
		}
		g.agents.known[id] = knownAgent{a, now}
	}
	return a, nil
}

// Forget has the next request read the agent again: it has changed.
func (g *Gateway) Forget(agentID string) {
	g.agents.mu.Lock()
	defer g.agents.mu.Unlock()
	g.agents.round++
	delete(g.agents.known, agentID)
}
