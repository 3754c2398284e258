package mcp

import "github.com/beeos/beeos/internal/engine/bus"

// handleControl acts on what replicas tell each other, this one's own messages
// included. It does not block.
func (s *Surface) handleControl(c bus.Control) {
	switch c.Kind {
	case bus.CancelRequest:
		s.runner.CancelRequest(c.ID, c.Reason)
	case bus.Answer:
		s.runner.DeliverAnswer(c.ID, c.Data)
	case bus.AgentChanged:
		s.opt.Calls.Forget(c.AgentID)
		s.catalog.ForgetUnions()
	case bus.ClientReturned:
		s.runner.ClientReturned(c.ID)
	case bus.SessionEnded:
		s.sessions.HeardOfEnd(c.ID)
		s.runner.EndSession(c.ID)
	}
	s.hub.HandleControl(c)
}
