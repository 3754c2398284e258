package agentgateway

import (
	"maps"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/bus"
)

// registry is who is at this node's door. It calls the bus with its lock held,
// so nothing that the bus calls may take that lock.
type registry struct {
	mu        sync.RWMutex
	stopped   bool
	agents    map[string]*served
	conns     map[string]*connection
	instances map[string]map[*connection]bool
	announced map[string]func() // instances on the bus, and how to take them off
}

// served is one agent that this node can reach.
type served struct {
	g    *Gateway
	id   string
	stop func() // takes the announcement on the bus back

	mu    sync.RWMutex
	conns []*connection
	note  bool // redelivery before_start: the ledger wants to know about signs of work
}

// add lets c serve agents, besides those that it serves already, and returns
// the agents that nobody here served before. An error is the bus's.
func (r *registry) add(c *connection, agents []*beeos.Agent) (first []string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stopped {
		return nil, beeos.Errorf(beeos.AgentServiceUnavailable, "the gateway is restarting; connect again in a moment")
	}
	if r.conns == nil {
		r.agents, r.conns, r.instances = map[string]*served{}, map[string]*connection{}, map[string]map[*connection]bool{}
		r.announced = map[string]func(){}
	}
	r.conns[c.id] = c
	if r.instances[c.instance] == nil {
		stop, err := c.g.Bus.Announce(c.instance)
		if err != nil {
			return nil, err
		}
		r.instances[c.instance], r.announced[c.instance] = map[*connection]bool{}, stop
	}
	r.instances[c.instance][c] = true
	for _, a := range agents {
		s := r.agents[a.ID]
		if s == nil {
			s = &served{g: c.g, id: a.ID}
			if s.stop, err = c.g.Bus.Serve(a.ID, s.deliver); err != nil {
				return first, err
			}
			r.agents[a.ID] = s
			first = append(first, a.ID)
		}
		s.join(c, a)
	}
	return first, nil
}

// leave takes c off the agents given, and the agents off the bus that nobody
// here serves then. r.mu is held.
func (r *registry) leave(c *connection, ids []string) {
	for _, id := range ids {
		if s := r.agents[id]; s != nil && s.leave(c) {
			s.stop()
			delete(r.agents, id)
		}
	}
}

// retire takes c off all its agents; it stays connected and speaks for them.
func (r *registry) retire(c *connection) {
	r.unserve(c, keys(c.agentsNow()))
}

func (r *registry) unserve(c *connection, ids []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.leave(c, ids)
}

// remove forgets c.
func (r *registry) remove(c *connection) {
	ids := keys(c.agentsNow())
	r.mu.Lock()
	defer r.mu.Unlock()
	r.leave(c, ids)
	delete(r.conns, c.id)
	if set := r.instances[c.instance]; set != nil {
		delete(set, c)
		if len(set) == 0 {
			r.announced[c.instance]()
			delete(r.instances, c.instance)
			delete(r.announced, c.instance)
		}
	}
}

// stop refuses new connections and returns those that are here.
func (r *registry) stop() []*connection {
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

// connection returns the one with this id if it is the instance's own.
func (r *registry) connection(id, instance string) *connection {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if c := r.conns[id]; c != nil && c.instance == instance {
		return c
	}
	return nil
}

// of returns the connections of an instance, and those that serve an agent.
func (r *registry) of(instance, agentID string) []*connection {
	r.mu.RLock()
	defer r.mu.RUnlock()
	set := maps.Clone(r.instances[instance])
	if set == nil {
		set = map[*connection]bool{}
	}
	if s := r.agents[agentID]; s != nil {
		for _, c := range s.list() {
			set[c] = true
		}
	}
	return slices.Collect(maps.Keys(set))
}

// ofOwner reports whether a user's instances are connected.
func (r *registry) ofOwner(userID string) bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	for _, c := range r.conns {
		if c.owner == userID {
			return true
		}
	}
	return false
}

func (r *registry) all() []*connection {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return slices.Collect(maps.Values(r.conns))
}

func (s *served) join(c *connection, a *beeos.Agent) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Contains(s.conns, c) {
		s.conns = append(s.conns, c)
	}
	s.note = a.Definition.Redelivery == beeos.RedeliverBeforeStart
}

// leave reports whether c was the last.
func (s *served) leave(c *connection) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conns = slices.DeleteFunc(s.conns, func(other *connection) bool { return other == c })
	return len(s.conns) == 0
}

func (s *served) list() []*connection {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return slices.Clone(s.conns)
}

// deliver is the bus's: it hands a dispatch to the least loaded connection
// that takes it. A turn that an agent here still works on is not begun again.
func (s *served) deliver(d bus.Dispatch) bool {
	if t := s.g.desk.turn(d.MessageID); t != nil {
		t.adopt(d.Attempt)
		return true
	}
	if d.Attempt > 1 && s.g.over(d.MessageID) {
		return true
	}
	s.mu.RLock()
	note := s.note
	best := s.pick(nil)
	s.mu.RUnlock()
	for best != nil {
		if best.deliver(newTurn(&d, note), d.Frame) {
			return true
		}
		s.mu.RLock()
		best = s.pick(best)
		s.mu.RUnlock()
	}
	return false
}

// looks is how many connections one dispatch compares; beyond that a random
// stretch of them is as good as all.
const looks = 8

// pick returns the least loaded of a few connections; after a failed one, the
// next in line. s.mu is held.
func (s *served) pick(failed *connection) *connection {
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
	for i := 1; i < min(n, looks); i++ {
		if c := s.conns[(start+i)%n]; c.load.Load() < best.load.Load() {
			best = c
		}
	}
	return best
}

func keys(m map[string]bool) []string { return slices.Collect(maps.Keys(m)) }
