package catalog

import (
	"encoding/json"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/surface/mcp/wire"
)

// resourceDefinition is a resource as lists show it.
func resourceDefinition(r *beeos.Resource) ([]byte, error) {
	shown := *r
	shown.Text, shown.Blob = nil, nil
	return beeos.EncodeJSON(shown)
}

// staticContents is the whole result of reading a resource; nil = the agent
// answers.
func staticContents(r *beeos.Resource) []byte {
	member, content := "text", r.Text
	if content == nil {
		member, content = "blob", r.Blob
	}
	if content == nil {
		return nil
	}
	b := wire.AppendText([]byte(`{"contents":[{"uri":`), r.URI)
	b = wire.AppendMember(b, "mimeType", r.MIMEType)
	b = wire.AppendText(append(b, `,"`+member+`":`...), *content)
	return append(b, `}]}`...)
}

// ownResources are what every agent tells about itself: how it is set up, but
// for its instructions, which stay with the agent; and every skill, also those
// that are not tools.
func ownResources(a *beeos.Agent) (list []beeos.Resource) {
	d := &a.Definition
	names := []string{}
	for _, s := range d.Skills {
		names = append(names, s.Name)
	}
	capabilities := d.Capabilities
	if len(capabilities) == 0 {
		capabilities = json.RawMessage(`{}`)
	}
	add := func(uri, name, description string, content map[string]any) {
		if body, err := beeos.EncodeJSON(content); err == nil {
			text := string(body)
			list = append(list, beeos.Resource{URI: uri, Name: name, Description: description, MIMEType: "application/json", Text: &text})
		}
	}
	add("beeos://agent/config", "Agent Configuration", "Name, model, skills and capabilities of this agent", map[string]any{
		"id": a.ID, "name": a.Name, "display_name": d.DisplayName, "description": d.Description, "version": d.Version,
		"model": d.Model, "delivery_mode": d.DeliveryMode, "skills": names, "capabilities": capabilities,
	})
	add("beeos://agent/skills", "Skill Registry", "Every skill of this agent with its metadata", map[string]any{
		"skills": append([]beeos.Skill{}, d.Skills...),
	})
	return list
}
