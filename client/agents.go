package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/beeos/beeos"
)

// Agent is an agent as the REST surface shows it.
type Agent struct {
	ID           string          `json:"id"`
	InstanceID   string          `json:"instanceId"`
	Name         string          `json:"name"`
	DisplayName  string          `json:"displayName,omitempty"`
	Description  string          `json:"description,omitempty"`
	Slug         string          `json:"slug,omitempty"`
	Status       string          `json:"status"` // active or inactive
	Online       bool            `json:"online"` // somebody serves it now
	Visibility   string          `json:"visibility"`
	MCPEnabled   bool            `json:"mcpEnabled"`
	MCPURL       string          `json:"mcpUrl,omitempty"`
	HandOver     bool            `json:"handOver"`     // long calls over MCP are answered with where to fetch the result
	WhenLeft     string          `json:"whenLeft"`     // stop, go_on, or empty for the default
	MetadataOnly bool            `json:"metadataOnly"` // its owner does not see what its callers say and are told
	A2AURL       string          `json:"a2aUrl,omitempty"`
	DeliveryMode string          `json:"deliveryMode,omitempty"`
	Version      string          `json:"version,omitempty"`
	Model        string          `json:"defaultModelId,omitempty"`
	Skills       []Skill         `json:"skills"`
	Capabilities json.RawMessage `json:"capabilities,omitempty"`
	CreatedAt    time.Time       `json:"createdAt"`
	UpdatedAt    time.Time       `json:"updatedAt"`
}

// Skill is one capability of an agent.
type Skill struct {
	Name         string          `json:"name"`
	Title        string          `json:"title,omitempty"`
	Description  string          `json:"description,omitempty"`
	InputSchema  json.RawMessage `json:"inputSchema,omitempty"`
	ExposeAsTool bool            `json:"exposeAsTool"`
	Tags         []string        `json:"tags,omitempty"`
}

// pageSize is what one request of a listing asks for.
const pageSize = 100

// Agents lists every agent that the key's user owns.
func (c *Client) Agents(ctx context.Context) ([]Agent, error) {
	var all []Agent
	for {
		var page []Agent
		path := fmt.Sprintf("/api/v1/agents?limit=%d&offset=%d", pageSize, len(all))
		env, err := c.do(ctx, http.MethodGet, path, nil, &page)
		if err != nil {
			return nil, err
		}
		all = append(all, page...)
		if len(page) == 0 || len(all) >= env.Total {
			return all, nil
		}
	}
}

// Agent returns one agent by its id.
func (c *Client) Agent(ctx context.Context, id string) (*Agent, error) {
	return call[Agent](ctx, c, http.MethodGet, apiPath("agents", id), nil)
}

// Find returns the agent that ref names: an id, a slug, a name or what people
// call it. All but ids are searched among the agents of the key's user.
func (c *Client) Find(ctx context.Context, ref string) (*Agent, error) {
	agents, err := c.Agents(ctx)
	if err != nil {
		return nil, err
	}
	for _, isIt := range []func(a Agent) bool{
		func(a Agent) bool { return a.ID == ref },
		func(a Agent) bool { return a.Slug == ref },
		func(a Agent) bool { return a.Name == ref },
		func(a Agent) bool { return a.DisplayName == ref },
	} {
		if i := slices.IndexFunc(agents, isIt); i >= 0 {
			return &agents[i], nil
		}
	}
	// Somebody else's agent that is not private can only be named by its id.
	a, err := c.Agent(ctx, ref)
	if err != nil && beeos.CodeOf(err) == beeos.AgentNotFound {
		return nil, beeos.Errorf(beeos.AgentNotFound, "no agent is called %q", ref)
	}
	return a, err
}

// AgentUpdate is what an owner may change; nil leaves a setting alone.
type AgentUpdate struct {
	Visibility *string `json:"visibility,omitempty"`
	MCPEnabled *bool   `json:"mcpEnabled,omitempty"`

	// DisplayName is what the owner calls the agent; "" = what it calls itself.
	DisplayName *string `json:"displayName,omitempty"`

	// HandOver says whether a call over MCP that takes long is answered with where
	// to fetch its result.
	HandOver *bool `json:"handOver,omitempty"`

	// WhenLeft says what becomes of a call over MCP whose client has left: stop,
	// go_on, or "" for the default.
	WhenLeft *string `json:"whenLeft,omitempty"`

	// MetadataOnly keeps from the owner what callers say and are told.
	MetadataOnly *bool `json:"metadataOnly,omitempty"`
}

// UpdateAgent changes what belongs to the owner of an agent.
func (c *Client) UpdateAgent(ctx context.Context, id string, u AgentUpdate) (*Agent, error) {
	return call[Agent](ctx, c, http.MethodPatch, apiPath("agents", id), u)
}

// DeleteAgent removes an agent and revokes its keys.
func (c *Client) DeleteAgent(ctx context.Context, id string) error {
	_, err := c.do(ctx, http.MethodDelete, apiPath("agents", id), nil, nil)
	return err
}
