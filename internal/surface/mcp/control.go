package mcp

import (
	"github.com/beeos/beeos/internal/engine/bus"
)

// handleControl acts on what replicas tell each other, this one's own messages
// included. It does not block.
func (g *Gateway) handleControl(c bus.Control) {
	switch c.Kind {
	case bus.CancelRequest:
		g.runner.cancelRequest(c.ID, c.Reason)
	case bus.AgentChanged:
		g.opt.Calls.Forget(c.AgentID)
		g.catalog.forgetUnions()
		g.hub.notify(topicAgent+c.AgentID, func(s *stream) { s.changed = true })
		g.hub.notify(topicAgent, func(s *stream) { s.changed = true })
	case bus.ResourceUpdated:
		g.hub.notify(topicAgent+c.AgentID, func(s *stream) { s.noteUpdate(c.ID) })
		g.hub.notify(topicAgent, func(s *stream) {
			if e := s.members[c.AgentID]; e != nil {
				s.noteUpdate(e.uriPrefix() + c.ID)
			}
		})
	case bus.SessionChanged:
		g.hub.notify(topicSession+c.ID, func(s *stream) { s.resubscribed = true })
	case bus.SessionEnded:
		g.sessions.heardOfEnd(c.ID)
		g.hub.notify(topicSession+c.ID, func(s *stream) { s.ended = true })
	case bus.SessionMessage:
		g.hub.notify(topicSession+c.ID, func(s *stream) { s.queueMessage(c.Data) })
	case bus.Answer:
		g.runner.questions.deliverAnswer(c.ID, c.Data)
	case bus.TurnChanged:
		g.turnChanged(c.ID)
	}
}

// handleNotice tells the streams that watch a task that it has ended.
func (g *Gateway) handleNotice(n bus.Notice) {
	if n.Terminal {
		g.turnChanged(n.Turn)
	}
}

func (g *Gateway) turnChanged(turn string) {
	g.hub.notify(topicTurn+turn, func(s *stream) { s.turns[turn] = true })
}
