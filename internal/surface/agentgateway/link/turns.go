package link

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/bus"
	"github.com/beeos/beeos/internal/engine/ledger"
	"github.com/beeos/beeos/internal/surface/agentgateway/turn"
)

// heldTurn is a turn and the connection of the agent that works on it.
type heldTurn struct {
	turn.Turn
	conn *Connection

	begun     atomic.Bool // the agent has shown a sign of work
	streamed  atomic.Int64
	noteStart func() // tells the ledger of it, once; nil = it need not know
}

// newTurn returns the turn of a dispatch. noteStart says that the ledger wants
// to know when the agent begins: its work must not be given to another instance
// from then on.
func (h *Hub) newTurn(d *bus.Dispatch, noteStart bool) *heldTurn {
	t := &heldTurn{Turn: turn.New(h.Bus, h.Now, d)}
	if noteStart {
		t.noteStart = sync.OnceFunc(func() {
			if err := h.Ledger.MarkStarted(context.Background(), t.ID); err != nil {
				h.Log.Error("the start of a turn was not noted", "turn", t.ID, "err", err)
			}
		})
	}
	return t
}

// turnTable is what the agents of this node are working on.
type turnTable struct {
	byID sync.Map // of *heldTurn
}

func (tt *turnTable) add(t *heldTurn) { tt.byID.Store(t.ID, t) }

// drop forgets a turn, and ends what depends on it.
func (tt *turnTable) drop(t *heldTurn) {
	t.Drop()
	tt.byID.CompareAndDelete(t.ID, t)
}

// get returns a turn, or nil when nobody here holds it.
func (tt *turnTable) get(id string) *heldTurn {
	v, _ := tt.byID.Load(id)
	t, _ := v.(*heldTurn)
	return t
}

func (tt *turnTable) all() (turns []*heldTurn) {
	for _, t := range tt.byID.Range {
		turns = append(turns, t.(*heldTurn))
	}
	return turns
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
