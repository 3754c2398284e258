package link

import (
	"maps"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/bus"
)

// registry is which agents are connected to this node. It calls the bus with its
// lock held, so nothing that the bus calls may take that lock.
type registry struct {
	mu        sync.RWMutex
	stopped   bool
	agents    map[string]*servedAgent
	conns     map[string]*Connection
	instances map[string]map[*Connection]bool
	announced map[string]func() // instances on the bus, and how to take them off
}

// maxConnections is how many connections one instance may have to this node: one
// for each of its agents, and then some.
const maxConnections = 2048

// servedAgent is one agent that this node can reach.
type servedAgent struct {
	hub  *Hub
	id   string
	stop func() // takes the announcement on the bus back

	mu        sync.RWMutex
	conns     []*Connection
	noteStart bool // redelivery before_start: the ledger wants to know about signs of work
}

// add lets c serve agents, besides those that it serves already, and returns
// the agents that nobody here served before. An error is the bus's.
func (r *registry) add(c *Connection, agents []*beeos.Agent) (first []string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stopped {
		return nil, beeos.Errorf(beeos.AgentServiceUnavailable, "the gateway is restarting; connect again in a moment")
	}
	if r.conns == nil {
		r.agents, r.conns, r.instances = map[string]*servedAgent{}, map[string]*Connection{}, map[string]map[*Connection]bool{}
		r.announced = map[string]func(){}
	}
	if set := r.instances[c.Instance]; len(set) >= maxConnections && !set[c] {
		return nil, beeos.Errorf(beeos.RateLimited, "this instance has %d connections to this node already; close some of them, or let other agents join as an instance of their own", maxConnections)
	}
	r.conns[c.ID] = c
	if r.instances[c.Instance] == nil {
		stop, err := c.hub.Bus.Announce(c.Instance)
		if err != nil {
			return nil, err
		}
		r.instances[c.Instance], r.announced[c.Instance] = map[*Connection]bool{}, stop
	}
	r.instances[c.Instance][c] = true
	for _, a := range agents {
		s := r.agents[a.ID]
		if s == nil {
			s = &servedAgent{hub: c.hub, id: a.ID}
			if s.stop, err = c.hub.Bus.Serve(a.ID, s.deliver); err != nil {
				return first, err
			}
			r.agents[a.ID] = s
			first = append(first, a.ID)
		}
		s.addConnection(c, a)
	}
	return first, nil
}

// unserve takes c off some of its agents, and those off the bus that nobody
// here serves then; c stays connected and speaks for them.
func (r *registry) unserve(c *Connection, ids []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, id := range ids {
		if s := r.agents[id]; s != nil && s.removeConnection(c) {
			s.stop()
			delete(r.agents, id)
		}
	}
}

// remove forgets c.
func (r *registry) remove(c *Connection) {
	r.unserve(c, c.servedAgents())
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.conns, c.ID)
	if set := r.instances[c.Instance]; set != nil {
		delete(set, c)
		if len(set) == 0 {
			r.announced[c.Instance]()
			delete(r.instances, c.Instance)
			delete(r.announced, c.Instance)
		}
	}
}

// stop refuses new connections and returns those that are here.
func (r *registry) stop() []*Connection {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stopped = true
	return slices.Collect(maps.Values(r.conns))
}

func (r *registry) size() int {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return len(r.conns)
}

func (r *registry) countOverdue() (n int) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	for _, c := range r.conns {
		if c.isOverdue() {
			n++
		}
	}
	return n
}

// connection returns the one with this id if it is the instance's own.
func (r *registry) connection(id, instance string) *Connection {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if c := r.conns[id]; c != nil && c.Instance == instance {
		return c
	}
	return nil
}

// find returns the connections of an instance, and those that serve an agent.
func (r *registry) find(instance, agentID string) []*Connection {
	r.mu.RLock()
	defer r.mu.RUnlock()
	set := maps.Clone(r.instances[instance])
	if set == nil {
		set = map[*Connection]bool{}
	}
	if s := r.agents[agentID]; s != nil {
		for _, c := range s.connections() {
			set[c] = true
		}
	}
	return slices.Collect(maps.Keys(set))
}

// hasOwner reports whether instances of a user are connected.
func (r *registry) hasOwner(userID string) bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	for _, c := range r.conns {
		if c.owner == userID {
			return true
		}
	}
	return false
}

func (s *servedAgent) addConnection(c *Connection, a *beeos.Agent) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Contains(s.conns, c) {
		s.conns = append(s.conns, c)
	}
	s.noteStart = a.Definition.Redelivery == beeos.RedeliverBeforeStart
}

// removeConnection reports whether c was the last.
func (s *servedAgent) removeConnection(c *Connection) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conns = slices.DeleteFunc(s.conns, func(other *Connection) bool { return other == c })
	return len(s.conns) == 0
}

func (s *servedAgent) connections() []*Connection {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return slices.Clone(s.conns)
}

// deliver hands a dispatch from the bus to the least loaded connection that
// takes it, and gives signs of life unless anyone will do. A turn that an agent
// here still works on is not begun again.
func (s *servedAgent) deliver(d bus.Dispatch) bool {
	if t := s.hub.turns.get(d.MessageID); t != nil {
		t.Adopt(d.Attempt)
		return true
	}
	if d.Attempt > 1 && s.hub.hasEnded(d.MessageID) {
		return true
	}
	s.mu.RLock()
	noteStart := s.noteStart
	best := s.pickConnection(nil)
	s.mu.RUnlock()
	for best != nil {
		if (d.Anyone || !best.isOverdue()) && best.deliver(s.hub.newTurn(&d, noteStart), d.Frame) {
			return true
		}
		s.mu.RLock()
		best = s.pickConnection(best)
		s.mu.RUnlock()
	}
	return false
}

// maxCompared is how many connections one dispatch compares; a random stretch
// of that many is as good as all.
const maxCompared = 8

// pickConnection returns the least loaded of a few connections; after a failed one, the
// next in line. s.mu is held.
func (s *servedAgent) pickConnection(failed *Connection) *Connection {
	n := len(s.conns)
	if n == 0 {
		return nil
	}
	if failed != nil {
		if i := slices.Index(s.conns, failed) + 1; i < n {
			return s.conns[i]
		}
		return nil
	}
	start := 0
	if n > 1 {
		start = rand.IntN(n)
	}
	best := s.conns[start]
	for i := 1; i < min(n, maxCompared); i++ {
		if c := s.conns[(start+i)%n]; c.isBetterThan(best) {
			best = c
		}
	}
	return best
}

// isBetterThan compares connections for the next dispatch.
func (c *Connection) isBetterThan(other *Connection) bool {
	if late := c.isOverdue(); late != other.isOverdue() {
		return !late
	}
	return c.load.Load() < other.load.Load()
}
