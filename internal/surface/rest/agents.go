package rest

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/beeos/beeos"
	agentstore "github.com/beeos/beeos/internal/store/agents"
	"github.com/beeos/beeos/internal/wire/httpd"
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
		DefaultModelID: d.Model, Version: d.Version, DeliveryMode: d.DeliveryMode, ConversationTransport: "message-service",
		Capabilities: viewCapabilities(a), Skills: make([]beeos.Skill, len(d.Skills)),
		CreatedAt: a.CreatedAt, UpdatedAt: a.UpdatedAt,
	}
	if a.Active {
		v.Status = statusActive
		v.Online = s.Online != nil && s.Online(ctx, a.ID)
	}
	if s.MCPURL != "" {
		v.MCPURL = strings.TrimRight(s.MCPURL, "/") + "/" + a.ID + "/mcp"
	}
	if s.A2AURL != "" {
		v.A2AURL = strings.TrimRight(s.A2AURL, "/") + "/" + a.ID + "/"
	}
	for i, sk := range d.Skills {
		exposed := sk.Exposed()
		sk.ExposeAsTool = &exposed
		v.Skills[i] = sk
	}
	return v
}

// contractCapabilities are the booleans that generated clients insist on.
var contractCapabilities = strings.Fields(`multipleConversations loadConversation createConversation canvas terminal
	webSsh fileSystem image audio mcp cron streaming pushNotifications a2a extendedAgentCard modelsList modelsSet
	skillsList skillsInstall skillsUninstall skillsUpdate`)

// viewCapabilities fills what the contract requires with what the agent
// declared; mcp is the owner's setting, and every agent here can stream.
func viewCapabilities(a *beeos.Agent) map[string]json.RawMessage {
	var declared map[string]json.RawMessage
	if json.Unmarshal(a.Definition.Capabilities, &declared) != nil || declared == nil {
		declared = map[string]json.RawMessage{}
	}
	for _, name := range contractCapabilities {
		if v := string(declared[name]); v != "true" && v != "false" {
			declared[name] = boolJSON(name == "streaming")
		}
	}
	declared["mcp"] = boolJSON(a.MCPEnabled)
	return declared
}

func boolJSON(b bool) json.RawMessage {
	if b {
		return json.RawMessage("true")
	}
	return json.RawMessage("false")
}

type agentList struct {
	Success bool        `json:"success"`
	Data    []agentView `json:"data"`
	Total   int         `json:"total"`
}

func (s *Surface) listAgents(w http.ResponseWriter, r *http.Request, c beeos.Caller) error {
	f, err := agentFilter(r, c)
	if err != nil {
		return err
	}
	agents, total, err := s.DB.Agents.List(r.Context(), f)
	if err != nil {
		return err
	}
	list := agentList{Success: true, Data: make([]agentView, len(agents)), Total: total}
	for i, a := range agents {
		list.Data[i] = s.viewAgent(r.Context(), a)
	}
	httpd.WriteJSON(w, http.StatusOK, list)
	return nil
}

// agentFilter reads the parameters of a listing; instance_id has two names.
func agentFilter(r *http.Request, c beeos.Caller) (f agentstore.Filter, err error) {
	q := r.URL.Query()
	f.OwnerID = c.UserID
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
	limit, err := query(r, "limit", 50, 1, 200)
	if err != nil {
		return f, err
	}
	offset, err := query(r, "offset", 0, 0, 1<<31-1)
	f.Limit, f.Offset = int(limit), int(offset)
	return f, err
}

func (s *Surface) getAgent(w http.ResponseWriter, r *http.Request, c beeos.Caller) error {
	a, err := s.agentFor(r.Context(), r.PathValue("agentId"), c)
	if err != nil {
		return err
	}
	httpd.WriteData(w, http.StatusOK, s.viewAgent(r.Context(), a))
	return nil
}

func (s *Surface) patchAgent(w http.ResponseWriter, r *http.Request, c beeos.Caller) error {
	patch, err := readPatch(w, r)
	if err != nil {
		return err
	}
	a, err := s.Acts.UpdateAgent(r.Context(), c, r.PathValue("agentId"), patch)
	if err != nil {
		return err
	}
	httpd.WriteData(w, http.StatusOK, s.viewAgent(r.Context(), a))
	return nil
}

// readPatch takes the two settings that are the owner's, under any of their
// names, and refuses a body that changes nothing.
func readPatch(w http.ResponseWriter, r *http.Request) (p agentstore.Patch, err error) {
	var visibility *string
	var camel, snake *bool
	err = read(w, r, settingLimit, true, shape{"visibility": &visibility, "mcpEnabled": &camel, "mcp_enabled": &snake})
	if err != nil {
		return p, err
	}
	if visibility != nil {
		p.Visibility = (*beeos.Visibility)(visibility)
	}
	switch {
	case camel != nil && snake != nil && *camel != *snake:
		return p, beeos.Errorf(beeos.InvalidBody, "mcpEnabled and mcp_enabled contradict each other")
	case camel != nil:
		p.MCPEnabled = camel
	case snake != nil:
		p.MCPEnabled = snake
	}
	if p.Visibility == nil && p.MCPEnabled == nil {
		return p, beeos.Errorf(beeos.InvalidBody, "nothing to change: give visibility or mcpEnabled")
	}
	return p, nil
}

func (s *Surface) deleteAgent(w http.ResponseWriter, r *http.Request, c beeos.Caller) error {
	if err := s.Acts.DeleteAgent(r.Context(), c, r.PathValue("agentId")); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
