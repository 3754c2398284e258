package mcp

import (
	"context"
	"time"

	"github.com/beeos/beeos/internal/engine/bus"
)

// handleControl acts on what replicas tell each other, this one's own messages
// included. It does not block.
func (g *Gateway) handleControl(c bus.Control) {
	switch c.Kind {
	case bus.CancelRequest:
		g.cancelRequest(c.ID, c.Reason)
	case bus.AgentChanged:
		g.opt.Calls.Forget(c.AgentID)
		g.unions.forget()
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
		g.ended.add(c.ID, g.opt.Now().Add(10*rereadEnded)) // until the store has told how long
		g.hub.notify(topicSession+c.ID, func(s *stream) { s.ended = true })
	case bus.SessionMessage:
		g.hub.notify(topicSession+c.ID, func(s *stream) { s.queueMessage(c.Data) })
	case bus.Answer:
		g.questions.deliverAnswer(c.ID, c.Data)
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

// settle returns once the other replicas have heard what was sent before.
func (g *Gateway) settle(ctx context.Context) {
	if nodes, err := g.opt.DB.Nodes(ctx, time.Now().Add(-g.opt.NodeDead)); err == nil {
		g.opt.Bus.Settle(ctx, len(nodes)-1)
	}
}
