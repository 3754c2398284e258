package client

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/beeos/beeos"
)

// Deployment says what a built-in agent should be.
type Deployment struct {
	Name    string                     `json:"name"`
	Model   string                     `json:"modelPrimary,omitempty"` // empty = the one that the server is configured with
	Models  []string                   `json:"models,omitempty"`       // that callers may choose for a conversation
	Prompt  string                     `json:"systemPrompt,omitempty"`
	Servers map[string]json.RawMessage `json:"mcpServers,omitempty"`
	Config  *DeploymentConfig          `json:"config,omitempty"`
}

// DeploymentConfig is the rest of a Deployment.
type DeploymentConfig struct {
	DisplayName string           `json:"displayName,omitempty"`
	Description string           `json:"description,omitempty"`
	Fallbacks   []string         `json:"fallbacks,omitempty"` // models that are asked when the agent's does not answer
	Limits      DeploymentLimits `json:"limits,omitzero"`
}

// DeploymentLimits bound one answer; 0 = the default.
type DeploymentLimits struct {
	Turns   int `json:"turns,omitempty"`
	Calls   int `json:"calls,omitempty"`
	Tokens  int `json:"tokens,omitempty"`
	Seconds int `json:"seconds,omitempty"`
}

// Deployed is what a deployment came to.
type Deployed struct {
	ID      string `json:"id"` // of the instance; empty for one that would be made
	Name    string `json:"name"`
	Outcome string `json:"outcome"` // created, changed or unchanged
}

// Deploy makes a built-in agent, or changes the user's one of that name. With
// dry it only says what it would do.
func (c *Client) Deploy(ctx context.Context, d Deployment, dry bool) (*Deployed, error) {
	path := "/api/v1/instances"
	if dry {
		path += "?dryRun=true"
	}
	return call[Deployed](ctx, c, http.MethodPost, path, d)
}

// RunInstance starts, stops or restarts a built-in agent, as act says. Any other
// instance can be asked to restart while it is connected.
func (c *Client) RunInstance(ctx context.Context, id, act string) error {
	_, err := c.do(ctx, http.MethodPost, apiPath("instances", id, act), nil, nil)
	return err
}

// DestroyInstance deletes a built-in agent, or revokes any other instance.
func (c *Client) DestroyInstance(ctx context.Context, id string) error {
	_, err := c.do(ctx, http.MethodDelete, apiPath("instances", id), nil, nil)
	return err
}

// ClearConversation lets a built-in agent start afresh: what was said stays,
// and is not told to its model again.
func (c *Client) ClearConversation(ctx context.Context, agentID, conversationID string) error {
	req, err := c.newRequest(ctx, http.MethodPost, apiPath("agents", agentID, "conversations", conversationID, "clear"), "application/json", nil)
	if err != nil {
		return err
	}
	req.Header.Set("Idempotency-Key", beeos.NewID())
	_, err = c.readAnswer(req, nil)
	return err
}
