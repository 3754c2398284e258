package catalog

import (
	"encoding/json"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/surface/mcp/wire"
)

// Resource is one line of resources/list.
type Resource struct {
	uri        string
	definition []byte // its element of the list
	Contents   []byte // the whole result of reading it; nil = the agent answers
}

// resourceDefinition is a resource as lists show it.
func resourceDefinition(r *beeos.Resource) ([]byte, bool) {
	shown := *r
	shown.Text, shown.Blob = nil, nil
	return wire.Encode(shown)
}

// newResource returns nil for one whose JSON is broken.
func newResource(r *beeos.Resource) *Resource {
	shown, ok := resourceDefinition(r)
	if !ok {
		return nil
	}
	res := &Resource{uri: r.URI, definition: shown}
	if r.Text == nil && r.Blob == nil {
		return res
	}
	b := wire.AppendText([]byte(`{"contents":[{"uri":`), r.URI)
	b = wire.AppendMember(b, "mimeType", r.MIMEType)
	if r.Text != nil {
		b = wire.AppendText(append(b, `,"text":`...), *r.Text)
	} else {
		b = wire.AppendText(append(b, `,"blob":`...), *r.Blob)
	}
	res.Contents = append(b, `}]}`...)
	return res
}

// configResource is what every agent tells about itself. Its instructions
// stay with the agent.
func configResource(a *beeos.Agent) *Resource {
	d := &a.Definition
	names := []string{}
	for _, s := range d.Skills {
		names = append(names, s.Name)
	}
	return ownResource("beeos://agent/config", "Agent Configuration", "Name, model, skills and capabilities of this agent", map[string]any{
		"id": a.ID, "name": a.Name, "display_name": d.DisplayName, "description": d.Description, "version": d.Version,
		"model": d.Model, "delivery_mode": d.DeliveryMode, "skills": names, "capabilities": rawOrEmpty(d.Capabilities),
	})
}

// skillsResource lists every skill, also those that are not tools.
func skillsResource(a *beeos.Agent) *Resource {
	skills := a.Definition.Skills
	if skills == nil {
		skills = []beeos.Skill{}
	}
	return ownResource("beeos://agent/skills", "Skill Registry", "Every skill of this agent with its metadata", map[string]any{"skills": skills})
}

func ownResource(uri, name, description string, content map[string]any) *Resource {
	body, ok := wire.Encode(content)
	if !ok {
		return nil
	}
	s := string(body)
	return newResource(&beeos.Resource{URI: uri, Name: name, Description: description, MIMEType: "application/json", Text: &s})
}

func rawOrEmpty(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return json.RawMessage(`{}`)
	}
	return raw
}
