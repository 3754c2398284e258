package client

import (
	"context"
	"net/http"
)

// AgentLimits is how often each credential may call an agent. A key with a
// limit of its own, see KeyRequest, goes by that instead.
type AgentLimits struct {
	RatePerMinute int `json:"rate_limit_per_minute"` // 0 = the server's default
}

// AgentLimits returns the limits that the owner set for an agent.
func (c *Client) AgentLimits(ctx context.Context, agentID string) (*AgentLimits, error) {
	return call[AgentLimits](ctx, c, http.MethodGet, apiPath("agents", agentID, "limits"), nil)
}

// SetAgentLimits sets the limits of an agent and returns them as they are then.
func (c *Client) SetAgentLimits(ctx context.Context, agentID string, l AgentLimits) (*AgentLimits, error) {
	return call[AgentLimits](ctx, c, http.MethodPatch, apiPath("agents", agentID, "limits"), l)
}
