package link

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/beeos/beeos"
	agentstore "github.com/beeos/beeos/internal/store/agents"
)

const (
	reloadWithin = 10 * time.Second
	maxAgents    = 10_000 // that one connection may serve
)

// Open connects an instance for the agents that it names, or for all that it
// declares, and tells the bus. Without a transport the connection is a visitor:
// it receives nothing and only brings replies.
func (h *Hub) Open(ctx context.Context, inst beeos.Instance, from Peer, wanted []string, t Transport) (*Connection, error) {
	c := &Connection{
		ID: "conn_" + beeos.NewID(), Instance: inst.ID, hub: h, owner: inst.OwnerID, transport: t,
		peer: Peer{cut(from.Address, maxProgram), cut(from.Program, maxProgram)}, since: h.Now(),
	}
	c.Replies.Send = c.enqueue
	agents, err := h.declaredAgents(ctx, inst.ID, nil)
	if err != nil {
		return nil, err
	}
	if len(wanted) > 0 {
		c.only = parseNames(wanted, agents)
		agents = withNames(agents, c.only)
	}
	if len(agents) == 0 || len(agents) < len(c.only) {
		return nil, beeos.Errorf(beeos.AgentNotFound, "this instance does not declare the agents that it wants to serve; sync them first")
	}
	if t == nil {
		c.setAgents(idsOf(agents))
		return c, nil
	}
	if err := h.serve(c, agents); err != nil {
		c.Close()
		return nil, err
	}
	h.book.addOpened(agents)
	h.Log.InfoContext(ctx, "agent connected", "instance", inst.ID, "name", inst.Name, "agents", len(agents))
	return c, nil
}

// parseNames reads what a connection wants to serve: names, separated by commas
// unless an agent's name has one.
func parseNames(wanted []string, agents []*beeos.Agent) map[string]bool {
	only := map[string]bool{}
	for _, list := range wanted {
		if slices.ContainsFunc(agents, func(a *beeos.Agent) bool { return a.Name == list }) {
			only[list] = true
			continue
		}
		for name := range strings.SplitSeq(list, ",") {
			only[name] = true
		}
	}
	return only
}

func withNames(agents []*beeos.Agent, only map[string]bool) []*beeos.Agent {
	return slices.DeleteFunc(agents, func(a *beeos.Agent) bool { return !only[a.Name] })
}

func idsOf(agents []*beeos.Agent) map[string]bool {
	ids := make(map[string]bool, len(agents))
	for _, a := range agents {
		ids[a.ID] = true
	}
	return ids
}

// declaredAgents returns the active agents that an instance declares, or those
// of them that are named.
func (h *Hub) declaredAgents(ctx context.Context, instance string, only map[string]bool) ([]*beeos.Agent, error) {
	active := true
	agents, _, err := h.Agents.List(ctx, agentstore.Filter{InstanceID: instance, Active: &active, Limit: maxAgents})
	if err != nil || only == nil {
		return agents, err
	}
	return withNames(agents, only), nil
}

// serve makes agents the ones that c serves, and says hello when that is
// something new.
func (h *Hub) serve(c *Connection, agents []*beeos.Agent) error {
	ids := idsOf(agents)
	before := c.setAgents(ids)
	if before == nil || !maps.Equal(before, ids) {
		c.enqueue(c.hello(agents))
	}
	var gone []string
	for id := range before {
		if !ids[id] {
			gone = append(gone, id)
		}
	}
	h.registry.unserve(c, gone)
	if c.isDraining() {
		return nil
	}
	first, err := h.registry.add(c, agents)
	if c.IsClosed() { // closed meanwhile: it must not come back
		h.registry.remove(c)
	}
	for _, id := range first {
		h.Calls.Kick(id)
	}
	return err
}

// changedAgents is the agents whose definition has changed. Adding one never
// blocks.
type changedAgents struct {
	mu    sync.Mutex
	ids   []string
	ready Signal
}

func (a *changedAgents) add(id string) {
	a.mu.Lock()
	a.ids = append(a.ids, id)
	a.mu.Unlock()
	a.ready.Wake()
}

func (a *changedAgents) take() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	ids := a.ids
	a.ids = nil
	return ids
}

// followChanges keeps what connections serve in step with what their instance
// declares.
func (h *Hub) followChanges(ctx context.Context) error {
	for {
		select {
		case <-h.changes.ready:
		case <-ctx.Done():
			return nil
		}
		for _, id := range h.changes.take() {
			if err := h.reloadAgent(ctx, id); err != nil && ctx.Err() == nil {
				h.Log.Error("a changed agent could not be read", "agent", id, "err", err)
			}
		}
	}
}

// reloadAgent brings the connections up to date that serve the agent, or belong
// to the instance that declared it last.
func (h *Hub) reloadAgent(ctx context.Context, agentID string) error {
	ctx, cancel := context.WithTimeout(ctx, reloadWithin)
	defer cancel()
	instance := ""
	a, err := h.Agents.Get(ctx, agentID)
	switch {
	case err == nil:
		instance = a.InstanceID
	case beeos.CodeOf(err) != beeos.AgentNotFound:
		return err
	}
	for _, c := range h.registry.find(instance, agentID) {
		agents, err := h.declaredAgents(ctx, c.Instance, c.only)
		if err != nil {
			return err
		}
		if err := h.serve(c, agents); err != nil {
			return err
		}
	}
	return nil
}
