package restgw

import (
	"context"
	"sync"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store"
)

const (
	knownFor  = 5 * time.Second // a change whose notice was lost shows after this
	knownMost = 10_000
)

// known keeps the agents that are called, since looking one up costs a quarter
// of a call. Its zero value is ready.
type known struct {
	mu     sync.Mutex
	agents map[string]knownAgent
	round  int // rises with every forget: what was read before it is stale
}

type knownAgent struct {
	agent *beeos.Agent
	until time.Time
}

func (k *known) agent(ctx context.Context, db *store.DB, id string, now time.Time) (*beeos.Agent, error) {
	k.mu.Lock()
	a, ok := k.agents[id]
	round := k.round
	k.mu.Unlock()
	if ok && now.Before(a.until) {
		return a.agent, nil
	}
	agent, err := db.Agent(ctx, id)
	if err != nil {
		return nil, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.round != round {
		return agent, nil // it may have changed meanwhile
	}
	if k.agents == nil || len(k.agents) >= knownMost {
		k.agents = map[string]knownAgent{} // they come back at a query each
	}
	k.agents[id] = knownAgent{agent, now.Add(knownFor)}
	return agent, nil
}

func (k *known) forget(id string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.round++
	delete(k.agents, id)
}

// Forget drops what is remembered of an agent: it has changed, here or on
// another replica.
func (s *Surface) Forget(agentID string) { s.known.forget(agentID) }
