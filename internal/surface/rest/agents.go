package rest

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store/agents"
	"github.com/beeos/beeos/internal/surface/rest/route"
)

// agentView is the contract's AgentDTO with some members of ours.
type agentView struct {
	ID                    string                     `json:"id"`
	InstanceID            string                     `json:"instanceId"`
	Name                  string                     `json:"name"`
	DisplayName           string                     `json:"displayName,omitempty"`
	Description           string                     `json:"description,omitempty"`
	Slug                  string                     `json:"slug"`
	Status                string                     `json:"status"`
	Online                bool                       `json:"online"`
	Visibility            beeos.Visibility           `json:"visibility"`
	MCPEnabled            bool                       `json:"mcpEnabled"`
	MCPEnabledSnake       bool                       `json:"mcp_enabled"`
	MCPURL                string                     `json:"mcpUrl,omitempty"`
	HandOver              bool                       `json:"handOver"`
	WhenLeft              beeos.WhenLeft             `json:"whenLeft"`
	MetadataOnly          bool                       `json:"metadataOnly"`
	A2AURL                string                     `json:"a2aUrl,omitempty"`
	DefaultModelID        string                     `json:"defaultModelId,omitempty"`
	Version               string                     `json:"version,omitempty"`
	DeliveryMode          beeos.DeliveryMode         `json:"deliveryMode"`
	ConversationTransport string                     `json:"conversationTransport"`
	Capabilities          map[string]json.RawMessage `json:"capabilities"`
	Skills                []beeos.Skill              `json:"skills"`
	CreatedAt             time.Time                  `json:"createdAt"`
	UpdatedAt             time.Time                  `json:"updatedAt"`
}

// Agent states as the contract's status string.
const (
	statusActive   = "active"
	statusInactive = "inactive"
)

func (s *Surface) viewAgent(ctx context.Context, a *beeos.Agent) agentView {
	d := &a.Definition
	v := agentView{
		ID: a.ID, InstanceID: a.InstanceID, Name: a.Name, DisplayName: d.DisplayName, Description: d.Description,
		Slug: a.Slug, Status: statusInactive, Visibility: a.Visibility, MCPEnabled: a.MCPEnabled, MCPEnabledSnake: a.MCPEnabled,
		HandOver: a.HandOver, WhenLeft: a.WhenLeft, MetadataOnly: a.MetadataOnly,
		DefaultModelID: d.Model, Version: d.Version, DeliveryMode: d.DeliveryMode, ConversationTransport: "message-service",
		Capabilities: viewCapabilities(a), Skills: make([]beeos.Skill, len(d.Skills)),
		CreatedAt: a.CreatedAt, UpdatedAt: a.UpdatedAt,
	}
	if a.Active {
		v.Status = statusActive
		v.Online = s.opt.Bus.Present(ctx, a.ID)
	}
	if s.opt.MCPURL != "" {
		v.MCPURL = strings.TrimRight(s.opt.MCPURL, "/") + "/" + a.ID + "/mcp"
	}
	if s.opt.A2AURL != "" {
		v.A2AURL = strings.TrimRight(s.opt.A2AURL, "/") + "/" + a.ID + "/"
	}
	for i, sk := range d.Skills {
		exposed := sk.Exposed()
		sk.ExposeAsTool = &exposed
		v.Skills[i] = sk
	}
	return v
}

func (s *Surface) listAgents(r *route.Request) (any, error) {
	f, err := readAgentFilter(r)
	if err != nil {
		return nil, err
	}
	found, total, err := s.opt.DB.Agents.List(r.Context(), f)
	view := func(a **beeos.Agent) agentView { return s.viewAgent(r.Context(), *a) }
	return route.ListOf(route.Views(found, view), total), err
}

// readAgentFilter reads the parameters of a listing; instance_id has two names.
func readAgentFilter(r *route.Request) (f agents.Filter, err error) {
	q := r.URL.Query()
	f.OwnerID = r.Caller.UserID
	f.InstanceID = q.Get("instance_id")
	if alias := q.Get("instanceId"); alias != "" {
		if f.InstanceID != "" && f.InstanceID != alias {
			return f, beeos.Errorf(beeos.InvalidParam, "instance_id and instanceId name two different instances")
		}
		f.InstanceID = alias
	}
	switch status := q.Get("status"); status {
	case "":
	case statusActive, statusInactive:
		active := status == statusActive
		f.Active = &active
	default:
		return f, beeos.Errorf(beeos.InvalidParam, "status must be %s or %s", statusActive, statusInactive)
	}
	limit, err := r.QueryLimit("limit", 50, 200)
	if err != nil {
		return f, err
	}
	offset, err := r.QueryInt("offset", 0, 0, 1<<31-1)
	f.Limit, f.Offset = int(limit), int(offset)
	return f, err
}

func (s *Surface) getAgent(r *route.Request) (any, error) {
	id := r.PathValue("agentId")
	a, err := s.opt.DB.Agents.Get(r.Context(), id)
	if a, err = r.ReachableAgent(id, a, err); err != nil {
		return nil, err
	}
	return s.viewAgent(r.Context(), a), nil
}

func (s *Surface) patchAgent(r *route.Request) (any, error) {
	patch, err := readPatch(r)
	if err != nil {
		return nil, err
	}
	a, err := s.opt.Acts.UpdateAgent(r.Context(), r.Caller, r.PathValue("agentId"), patch)
	if err != nil {
		return nil, err
	}
	return s.viewAgent(r.Context(), a), nil
}

// readPatch takes the settings that are the owner's, under any of their
// names, and refuses a body that changes nothing.
func readPatch(r *route.Request) (p agents.Patch, err error) {
	var visibility, title, left *string
	var camel, snake *bool
	err = r.ReadSettings(route.Strict, route.Shape{
		"visibility": &visibility, "mcpEnabled": &camel, "mcp_enabled": &snake, "displayName": &title, "handOver": &p.HandOver, "whenLeft": &left,
		"metadataOnly": &p.MetadataOnly,
	})
	p.Visibility, p.MCPEnabled, p.Title, p.WhenLeft = (*beeos.Visibility)(visibility), cmp.Or(camel, snake), title, (*beeos.WhenLeft)(left)
	switch {
	case err != nil:
	case camel != nil && snake != nil && *camel != *snake:
		err = beeos.Errorf(beeos.InvalidBody, "mcpEnabled and mcp_enabled contradict each other")
	case p == agents.Patch{}:
		err = beeos.Errorf(beeos.InvalidBody, "nothing to change: give visibility, mcpEnabled, displayName, handOver, whenLeft or metadataOnly")
	}
	return p, err
}

func (s *Surface) deleteAgent(r *route.Request) (any, error) {
	return route.NoContent, s.opt.Acts.DeleteAgent(r.Context(), r.Caller, r.PathValue("agentId"))
}
