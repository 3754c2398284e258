package mcp

// News is what replicas tell each other. Options.Tell sends one to all of
// them; each hands what it hears to its Gateway.Hear.
type News struct {
	Kind   NewsKind
	Agent  string
	ID     string
	Reason string
	Data   []byte
}

// NewsKind says what has happened.
type NewsKind string

const (
	Cancelled       NewsKind = "cancelled"        // ID = a session's request, Reason
	AgentChanged    NewsKind = "agent_changed"    // Agent
	ResourceUpdated NewsKind = "resource_updated" // Agent, ID = uri
	SessionChanged  NewsKind = "session_changed"  // ID = session: what it watches
	SessionEnded    NewsKind = "session_ended"    // ID = session
	SessionMessage  NewsKind = "session_message"  // ID = session, Data = a message for its stream
	Answered        NewsKind = "answered"         // ID = ask, Data = {"result"} or {"error"}
	TurnChanged     NewsKind = "turn_changed"     // ID = turn: its agent asked something, was answered, or ended it
)

// Hear acts on news, of this replica's or another's. It does not block.
func (g *Gateway) Hear(n News) {
	switch n.Kind {
	case Cancelled:
		g.cancel(n.ID, n.Reason)
	case AgentChanged:
		g.opt.Calls.Forget(n.Agent)
		g.unions.forget()
		g.hub.tell(topicAgent+n.Agent, func(s *stream) { s.changed = true })
		g.hub.tell(topicAgent, func(s *stream) { s.changed = true })
	case ResourceUpdated:
		g.hub.tell(topicAgent+n.Agent, func(s *stream) { s.update(n.ID) })
		g.hub.tell(topicAgent, func(s *stream) {
			if e := s.members[n.Agent]; e != nil {
				s.update(e.prefix() + n.ID)
			}
		})
	case SessionChanged:
		g.hub.tell(topicSession+n.ID, func(s *stream) { s.resubscribed = true })
	case SessionEnded:
		g.ended.add(n.ID, g.opt.Now().Add(10*rereadEnded)) // until the store has told how long
		g.hub.tell(topicSession+n.ID, func(s *stream) { s.ended = true })
	case SessionMessage:
		g.hub.tell(topicSession+n.ID, func(s *stream) { s.queue(n.Data) })
	case Answered:
		g.bridge.answered(n.ID, n.Data)
	case TurnChanged:
		g.hub.tell(topicTurn+n.ID, func(s *stream) { s.turns[n.ID] = true })
	}
}

// tell sends news to all replicas or, without any others, to this one.
func (g *Gateway) tell(n News) {
	if g.opt.Tell != nil {
		g.opt.Tell(n)
		return
	}
	g.Hear(n)
}
