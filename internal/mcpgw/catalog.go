package mcpgw

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store"
)

const (
	fresh      = 5 * time.Second // a change whose notice was lost shows after this
	catalogMax = 10_000          // agents kept ready
	loadWithin = 10 * time.Second
)

// catalog keeps what clients ask about agents ready to be written: an
// immutable snapshot per agent, rebuilt when the agent's fingerprint changes.
type catalog struct {
	db  *store.DB
	now func() time.Time

	loads   singleflight.Group
	mu      sync.Mutex
	entries map[string]*entry
	round   uint64 // rises with every forget: a load that began before it is stale
}

// entry is one agent as it was at loaded. Its lists outlive it while the
// fingerprint stays the same, and with them the compiled schemas.
type entry struct {
	agent  *beeos.Agent
	lists  *lists
	loaded time.Time

	members []*entry // of a union
}

// agent returns the agent and its lists. AgentNotFound comes from the store.
func (c *catalog) agent(ctx context.Context, id string) (*entry, error) {
	c.mu.Lock()
	e := c.entries[id]
	c.mu.Unlock()
	if e != nil && c.now().Sub(e.loaded) < fresh {
		return e, nil
	}
	// Several callers may wait for this load, so none of them may cancel it.
	loaded, err, _ := c.loads.Do(id, func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), loadWithin)
		defer cancel()
		return c.load(ctx, id)
	})
	if err != nil {
		return nil, err
	}
	return loaded.(*entry), nil
}

func (c *catalog) load(ctx context.Context, id string) (*entry, error) {
	c.mu.Lock()
	old, round := c.entries[id], c.round
	c.mu.Unlock()
	now := c.now()
	a, err := c.db.Agent(ctx, id)
	if err != nil {
		c.drop(id)
		return nil, err
	}
	e := &entry{agent: a, loaded: now}
	if old != nil && a.Fingerprint != "" && old.agent.Fingerprint == a.Fingerprint {
		e.lists = old.lists
	} else {
		e.lists = newLists(a)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.round != round {
		e.loaded = time.Time{} // it may have changed meanwhile: good for this call only
	}
	c.entries[id] = e
	for other := range c.entries { // any victim will do: it costs one query to come back
		if len(c.entries) <= catalogMax {
			break
		}
		if other != id {
			delete(c.entries, other)
		}
	}
	return e, nil
}

// forget makes the next request look the agent up again. The lists stay, for
// the case that nothing in them changed.
func (c *catalog) forget(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.round++
	c.loads.Forget(id)
	if e := c.entries[id]; e != nil {
		c.entries[id] = &entry{agent: e.agent, lists: e.lists}
	}
}

// drop takes an agent out that could not be loaded.
func (c *catalog) drop(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.entries, id)
}
