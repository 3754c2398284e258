package link

import (
	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/bus"
	"github.com/beeos/beeos/internal/surface/agentgateway/codec"
)

// onControl acts on what concerns this node's agents. It never blocks.
func (h *Hub) onControl(m bus.Control) {
	switch m.Kind {
	case bus.Cancel:
		if t := h.turns.get(m.ID); t != nil {
			t.conn.enqueue(codec.Encode(&beeos.Frame{Type: beeos.FrameCancel, MessageID: t.ID, Reason: m.Reason}))
		}
	case bus.Continue:
		if t := h.turns.get(m.ID); t != nil && h.questions.TakeWords(&t.Turn, m.Data) {
			t.conn.enqueue(m.Data)
		}
	case bus.Answer:
		h.questions.Answer(m.ID, m.Data)
	case bus.KeyRevoked: // an instance is a key too
		for _, c := range h.registry.find(m.ID, "") {
			h.Go(func() { c.End("this instance was revoked") })
		}
		if h.registry.hasOwner(m.ID) { // renamed, or locked out
			h.lockouts.Wake()
		}
	case bus.RestartInstance:
		for _, c := range h.registry.find(m.ID, "") {
			c.enqueue(codec.Encode(&beeos.Frame{Type: beeos.FrameRestart}))
		}
	case bus.AgentChanged:
		h.changes.add(m.AgentID)
	}
}

// onNotice drops a turn that was ended by somebody else: a deadline, or another
// instance.
func (h *Hub) onNotice(n bus.Notice) {
	if !n.Terminal || n.Turn == "" {
		return
	}
	if t := h.turns.get(n.Turn); t != nil && !t.IsFinishing() {
		h.dropEnded(t)
	}
}

// dropEnded drops a turn that ended without this agent, and tells the agent.
func (h *Hub) dropEnded(t *heldTurn) {
	t.conn.enqueue(codec.Ended(t.ID))
	t.conn.drop(t)
}
