package link

import (
	"maps"
	"slices"
	"sync"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/bus"
	"github.com/beeos/beeos/internal/engine/ledger"
	"github.com/beeos/beeos/internal/surface/agentgateway/turn"
)

// heldTurn is a turn and the connection of the agent that works on it.
type heldTurn struct {
	turn.Turn
	conn *Connection
}

func (h *Hub) newTurn(d *bus.Dispatch, noteStart bool) *heldTurn {
	return &heldTurn{Turn: turn.New(h.publisher, d, noteStart)}
}

// turnTable is what the agents of this node are working on. The bus looks
// things up here, so nothing may call the bus with the lock held.
type turnTable struct {
	mu    sync.RWMutex
	turns map[string]*heldTurn
}

func (tt *turnTable) add(t *heldTurn) {
	tt.mu.Lock()
	defer tt.mu.Unlock()
	if tt.turns == nil {
		tt.turns = map[string]*heldTurn{}
	}
	tt.turns[t.ID] = t
}

// drop forgets a turn, and ends what depends on it.
func (tt *turnTable) drop(t *heldTurn) {
	t.Drop()
	tt.mu.Lock()
	defer tt.mu.Unlock()
	if tt.turns[t.ID] == t {
		delete(tt.turns, t.ID)
	}
}

func (tt *turnTable) get(id string) *heldTurn {
	tt.mu.RLock()
	defer tt.mu.RUnlock()
	return tt.turns[id]
}

func (tt *turnTable) all() []*heldTurn {
	tt.mu.RLock()
	defer tt.mu.RUnlock()
	return slices.Collect(maps.Values(tt.turns))
}

// Leases are those of the turns that this node's agents work on.
func (h *Hub) Leases() (leases []ledger.Lease) {
	for _, t := range h.turns.all() {
		leases = append(leases, t.Lease())
	}
	return leases
}

// snapshot returns the text so far of a turn that is held here.
func (h *Hub) snapshot(id string) (ev beeos.Event, ok bool) {
	if t := h.turns.get(id); t != nil {
		return t.Snapshot(), true
	}
	return ev, false
}

// openQuestions returns the questions of a turn that is held here.
func (h *Hub) openQuestions(id string) ([]beeos.Event, bool) {
	if t := h.turns.get(id); t != nil {
		return h.questions.List(&t.Turn), true
	}
	return nil, false
}
