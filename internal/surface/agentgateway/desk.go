package agentgateway

import (
	"maps"
	"slices"
	"sync"

	"github.com/beeos/beeos"
)

// mostOpen is how many questions, and how many approvals, of one turn may wait
// at a time.
const mostOpen = 128

// desk is what the agents at this node's door are working on. The bus looks
// things up here, so nothing may call the bus with its lock held.
type desk struct {
	mu    sync.RWMutex
	turns map[string]*turn
	asks  map[string]ask
}

// ask is a question of an agent's towards its caller.
type ask struct {
	conn    *connection
	request string            // the agent's own id of it
	pause   beeos.MessageType // of a turn that paused for it; empty = it just waits
	event   beeos.Event

	approval string // what the caller may decide; empty = this is another question
	decider  string // the caller, a user
}

func (d *desk) hold(t *turn) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.turns == nil {
		d.turns, d.asks = map[string]*turn{}, map[string]ask{}
	}
	d.turns[t.id] = t
}

// drop forgets a turn and its open questions.
func (d *desk) drop(t *turn) {
	t.mu.Lock()
	asks, ended := t.asks, t.onDrop
	t.asks, t.onDrop = nil, nil
	t.leave()
	t.mu.Unlock()
	for _, f := range ended {
		f()
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.turns[t.id] == t {
		delete(d.turns, t.id)
	}
	for _, id := range asks {
		delete(d.asks, id)
	}
}

func (d *desk) turn(id string) *turn {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.turns[id]
}

func (d *desk) all() []*turn {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return slices.Collect(maps.Values(d.turns))
}

// open returns the questions of a turn that wait for an answer, oldest first.
func (d *desk) open(turn string) ([]beeos.Event, bool) {
	t := d.turn(turn)
	if t == nil {
		return nil, false
	}
	asks := []beeos.Event{}
	d.each(t, func(a ask) { asks = append(asks, a.event) })
	return asks, true
}

// each visits the open questions of a turn, oldest first.
func (d *desk) each(t *turn, visit func(ask)) {
	t.mu.Lock()
	ids := slices.Clone(t.asks)
	t.mu.Unlock()
	d.mu.RLock()
	defer d.mu.RUnlock()
	for _, id := range ids {
		if a, ok := d.asks[id]; ok {
			visit(a)
		}
	}
}

// unpause forgets the questions of a turn that was continued in another way.
func (d *desk) unpause(t *turn) {
	t.mu.Lock()
	ids := slices.Clone(t.asks)
	t.mu.Unlock()
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, id := range ids {
		if d.asks[id].pause != "" {
			delete(d.asks, id)
		}
	}
}

// openAsk keeps a question of a turn; false = the turn has too many already.
func (d *desk) openAsk(id string, a ask, t *turn) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	d.mu.Lock()
	defer d.mu.Unlock()
	t.asks = slices.DeleteFunc(t.asks, func(old string) bool {
		_, open := d.asks[old]
		return old == id || !open
	})
	if len(t.asks) >= mostOpen {
		return false
	}
	if d.turns[t.id] == t { // else it ended meanwhile
		t.asks, d.asks[id] = append(t.asks, id), a
	}
	return true
}

// ask returns a question that stays open.
func (d *desk) ask(id string) (ask, bool) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	a, ok := d.asks[id]
	return a, ok
}

func (d *desk) takeAsk(id string) (ask, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	a, ok := d.asks[id]
	delete(d.asks, id)
	return a, ok
}
