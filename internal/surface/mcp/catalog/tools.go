package catalog

import (
	"bytes"
	"cmp"
	"encoding/json"
	"sync"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/surface/mcp/wire"
	"github.com/beeos/beeos/internal/wire/schema"
	"github.com/beeos/beeos/internal/wire/strictjson"
)

// Tool is one line of tools/list and what a call of it needs.
type Tool struct {
	Name            string
	definition      []byte       // its element of the list
	IsAgent         bool         // the agent itself: {message, context_id}
	Agent           *beeos.Agent // in a union: whose it is
	IsMeta          bool         // finds or calls other tools
	IsFetch         bool         // brings the result of a call that took long
	HasOutputSchema bool         // its results are held to an outputSchema

	// ownNames are the reserved argument names that the tool's own schema
	// uses; they are the tool's then and not ours.
	ownNames    map[string]bool
	TaskSupport string                         // what it says about tasks; empty = nothing
	Bindings    []wire.Binding                 // arguments that stateless clients repeat in headers
	Schema      func() (*schema.Schema, error) // compiled at the first call
}

const selfSchema = `{"type":"object","properties":{"message":{"type":"string"},"context_id":{"type":"string"}},"required":["message"]}`

// newTool returns nil for a skill whose JSON is broken.
func newTool(s beeos.Skill) *Tool {
	s.InputSchema = listedSchema(s.InputSchema)
	definition, ok := toolDefinition(&s)
	if !ok {
		return nil
	}
	t := &Tool{
		Name: s.Name, definition: definition, HasOutputSchema: len(s.OutputSchema) > 0, ownNames: map[string]bool{},
		Bindings: wire.FindBindings(s.InputSchema, nil),
		Schema:   sync.OnceValues(func() (*schema.Schema, error) { return schema.Compile(s.InputSchema) }),
	}
	t.TaskSupport, _ = strictjson.StringField(s.Execution, "taskSupport")
	properties := strictjson.Field(s.InputSchema, "properties")
	for _, name := range []string{argIdempotencyKey, argContextID, argAttachments} {
		t.ownNames[name] = strictjson.Field(properties, name) != nil
	}
	return t
}

// listedSchema is an inputSchema with the two members that clients count on
// without asking: MCP wants its type to be object, and some cannot read a tool
// without properties. Neither changes what fits: arguments are objects.
func listedSchema(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return json.RawMessage(`{"type":"object","properties":{}}`)
	}
	if wire.Kind(raw) != '{' || !json.Valid(raw) {
		return raw
	}
	var more []byte
	if strictjson.Field(raw, "type") == nil {
		more = append(more, `,"type":"object"`...)
	}
	if strictjson.Field(raw, "properties") == nil {
		more = append(more, `,"properties":{}`...)
	}
	if more == nil {
		return raw
	}
	members := bytes.TrimRight(raw, " \t\r\n")
	members = members[:len(members)-1]
	if len(bytes.TrimSpace(members)) == 1 {
		more = more[1:] // it is the first member
	}
	return append(append(bytes.Clone(members), more...), '}')
}

// toolDefinition is a tool as lists show it: the agent's JSON byte for byte.
func toolDefinition(s *beeos.Skill) ([]byte, bool) {
	b := wire.AppendText([]byte(`{"name":`), s.Name)
	b = wire.AppendMember(b, "title", s.Title)
	b = wire.AppendMember(b, "description", s.Description)
	for _, m := range []struct {
		name string
		raw  json.RawMessage
	}{
		{"inputSchema", s.InputSchema},
		{"outputSchema", s.OutputSchema},
		{"annotations", s.Annotations},
		{"icons", s.Icons},
		{"execution", s.Execution},
		{"_meta", s.Meta},
	} {
		if len(m.raw) == 0 {
			continue
		}
		if !json.Valid(m.raw) {
			return nil, false
		}
		b = append(append(b, `,"`+m.name+`":`...), m.raw...)
	}
	return append(b, '}'), true
}

// newSelfTool is the agent as a tool, in the shape that all agents share.
func newSelfTool(a *beeos.Agent) *Tool {
	t := newTool(beeos.Skill{
		Name: a.ID, Title: a.Definition.DisplayName, InputSchema: json.RawMessage(selfSchema),
		Description: cmp.Or(a.Definition.Description, "Send a message to "+a.Name+" and get its reply."),
	})
	t.IsAgent, t.ownNames = true, nil // its context_id is the reserved one
	return t
}
