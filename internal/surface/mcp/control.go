package mcp

import "github.com/beeos/beeos/internal/engine/bus"

// handleControl acts on what replicas tell each other, this one's own messages
// included. It does not block.
func (g *Gateway) handleControl(c bus.Control) {
	switch c.Kind {
	case bus.CancelRequest:
		g.runner.CancelRequest(c.ID, c.Reason)
	case bus.Answer:
		g.runner.DeliverAnswer(c.ID, c.Data)
	case bus.AgentChanged:
		g.opt.Calls.Forget(c.AgentID)
		g.catalog.ForgetUnions()
	case bus.SessionEnded:
		g.sessions.HeardOfEnd(c.ID)
	}
	g.hub.HandleControl(c)
}
