package builtin

// AgentID returns the id of the agent that a built-in agent connected as, or ""
// while it has not connected on this node.
func (rt *Supervisor) AgentID(id string) string {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	if b := rt.running[id]; b != nil {
		return b.agent.ID()
	}
	return ""
}
