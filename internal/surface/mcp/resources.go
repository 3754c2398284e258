package mcp

import (
	"context"
	"encoding/json"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/wire/httpd"
)

// resource is one line of resources/list.
type resource struct {
	uri        string
	definition []byte // its element of the list
	contents   []byte // the whole result of reading it; nil = the agent answers
}

// resourceDefinition is a resource as lists show it.
func resourceDefinition(r *beeos.Resource) ([]byte, bool) {
	shown := *r
	shown.Text, shown.Blob = nil, nil
	return encode(shown)
}

// newResource returns nil for one whose JSON is broken.
func newResource(r *beeos.Resource) *resource {
	shown, ok := resourceDefinition(r)
	if !ok {
		return nil
	}
	res := &resource{uri: r.URI, definition: shown}
	if r.Text == nil && r.Blob == nil {
		return res
	}
	b := appendText([]byte(`{"contents":[{"uri":`), r.URI)
	b = appendMember(b, "mimeType", r.MIMEType)
	if r.Text != nil {
		b = appendText(append(b, `,"text":`...), *r.Text)
	} else {
		b = appendText(append(b, `,"blob":`...), *r.Blob)
	}
	res.contents = append(b, `}]}`...)
	return res
}

// configResource is what every agent tells about itself. Its instructions
// stay with the agent.
func configResource(a *beeos.Agent) *resource {
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
func skillsResource(a *beeos.Agent) *resource {
	skills := a.Definition.Skills
	if skills == nil {
		skills = []beeos.Skill{}
	}
	return ownResource("beeos://agent/skills", "Skill Registry", "Every skill of this agent with its metadata", map[string]any{"skills": skills})
}

func ownResource(uri, name, description string, content map[string]any) *resource {
	body, ok := encode(content)
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

// readResource answers resources/read: what is static from here, the rest by
// the agent.
func (x *exchange) readResource(ctx context.Context, m *message) ([]byte, error) {
	uri, ok := httpd.StringValue(httpd.Field(m.params, "uri"))
	if !ok || uri == "" {
		return nil, beeos.Errorf(beeos.MissingParam, "params.uri must name a resource; resources/list has them")
	}
	res := x.lists.resourceAt[uri]
	if res != nil && res.contents != nil {
		return res.contents, nil
	}
	if !x.lists.hasResource(uri) {
		return nil, resourceNotFound(uri)
	}
	reply, early, err := x.forwardMethod(ctx, m, nil)
	if reply == nil {
		return early, err
	}
	if reply.Type == beeos.AgentRefuse {
		return nil, resourceNotFound(uri)
	}
	return resourceContents(reply, uri)
}

// forwardMethod lets the agent itself answer a method. A reply that is an error
// of the protocol never comes back as one.
func (x *exchange) forwardMethod(ctx context.Context, m *message, arguments []byte) (*beeos.Message, []byte, error) {
	c := &activeCall{x: x, m: m}
	c.req.Call = beeos.Call{Method: m.method, Params: m.params, Arguments: arguments}
	if err := c.prepareRequest(); err != nil {
		return nil, nil, err
	}
	reply, early, err := c.runToEnd(ctx)
	if reply != nil {
		if err := x.agentError(reply); err != nil {
			return nil, nil, err
		}
	}
	return reply, early, err
}

// resourceContents reads an agent's answer to resources/read: a whole result,
// or resource parts, or plain text.
func resourceContents(m *beeos.Message, uri string) ([]byte, error) {
	if result, err := agentResult("resources/read", m); result != nil || err != nil {
		return result, err
	}
	var c, none content
	parts, _ := sortParts(m.Parts, &none)
	if none.broken != "" {
		return nil, malformed("resources/read")
	}
	for _, p := range parts {
		if r := httpd.Field(p, "resource"); isContents(r) {
			c.add(r)
		}
	}
	if len(c.blocks) == 0 {
		b := appendText([]byte(`{"uri":`), uri)
		c.add(append(appendText(append(b, `,"text":`...), m.Body), '}'))
	}
	return append(append([]byte(`{"contents":[`), c.blocks...), `]}`...), nil
}
