package stream

import "github.com/beeos/beeos/internal/engine/bus"

// HandleControl notes a control message on the streams that it concerns. It
// does not block.
func (h *Hub) HandleControl(c bus.Control) {
	switch c.Kind {
	case bus.AgentChanged:
		h.notify(TopicAgent+c.AgentID, func(s *Stream) { s.changed = true })
		h.notify(TopicAgent, func(s *Stream) { s.changed = true })
	case bus.ResourceUpdated:
		h.notify(TopicAgent+c.AgentID, func(s *Stream) { s.noteUpdate(c.ID) })
		h.notify(TopicAgent, func(s *Stream) {
			if e := s.members[c.AgentID]; e != nil {
				s.noteUpdate(e.UnionURI(c.ID))
			}
		})
	case bus.SessionChanged:
		h.notify(TopicSession+c.ID, func(s *Stream) { s.resubscribed = true })
	case bus.SessionEnded:
		h.notify(TopicSession+c.ID, func(s *Stream) { s.ended = true })
	case bus.SessionMessage:
		h.notify(TopicSession+c.ID, func(s *Stream) { s.queueMessage(c.Data) })
	case bus.TurnChanged:
		h.noteTurn(c.ID)
	}
}

// HandleNotice tells the streams that watch a task that it has ended.
func (h *Hub) HandleNotice(n bus.Notice) {
	if n.Terminal {
		h.noteTurn(n.Turn)
	}
}

func (h *Hub) noteTurn(turn string) {
	h.notify(TopicTurn+turn, func(s *Stream) { s.turns[turn] = true })
}
