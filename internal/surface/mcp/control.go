package mcp

import (
	"github.com/beeos/beeos/internal/engine/bus"
	"github.com/beeos/beeos/internal/surface/mcp/stream"
)

// handleControl acts on what replicas tell each other, this one's own messages
// included. It does not block.
func (g *Gateway) handleControl(c bus.Control) {
	switch c.Kind {
	case bus.CancelRequest:
		g.runner.CancelRequest(c.ID, c.Reason)
	case bus.AgentChanged:
		g.opt.Calls.Forget(c.AgentID)
		g.catalog.ForgetUnions()
		g.hub.Notify(stream.TopicAgent+c.AgentID, func(s *stream.Stream) { s.Changed = true })
		g.hub.Notify(stream.TopicAgent, func(s *stream.Stream) { s.Changed = true })
	case bus.ResourceUpdated:
		g.hub.Notify(stream.TopicAgent+c.AgentID, func(s *stream.Stream) { s.NoteUpdate(c.ID) })
		g.hub.Notify(stream.TopicAgent, func(s *stream.Stream) {
			if e := s.Members[c.AgentID]; e != nil {
				s.NoteUpdate(e.UriPrefix() + c.ID)
			}
		})
	case bus.SessionChanged:
		g.hub.Notify(stream.TopicSession+c.ID, func(s *stream.Stream) { s.Resubscribed = true })
	case bus.SessionEnded:
		g.sessions.HeardOfEnd(c.ID)
		g.hub.Notify(stream.TopicSession+c.ID, func(s *stream.Stream) { s.Ended = true })
	case bus.SessionMessage:
		g.hub.Notify(stream.TopicSession+c.ID, func(s *stream.Stream) { s.QueueMessage(c.Data) })
	case bus.Answer:
		g.runner.Questions.DeliverAnswer(c.ID, c.Data)
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
	g.hub.Notify(stream.TopicTurn+turn, func(s *stream.Stream) { s.Turns[turn] = true })
}
