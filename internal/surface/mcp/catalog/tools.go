package catalog

import (
	"encoding/json"
	"sync"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/surface/mcp/schema"
	"github.com/beeos/beeos/internal/surface/mcp/wire"
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
	HasOutputSchema bool         // it has an outputSchema

	// declares are the reserved argument names that the tool's own schema
	// uses; they are the tool's then and not ours.
	ownNames    map[string]bool
	TaskSupport TaskSupport
	Bindings    []wire.Binding                 // arguments that stateless clients repeat in headers
	Schema      func() (*schema.Schema, error) // compiled at the first call
}

const selfSchema = `{"type":"object","properties":{"message":{"type":"string"},"context_id":{"type":"string"}},"required":["message"]}`

// newTool returns nil for a skill whose JSON is broken.
func newTool(s *beeos.Skill) *Tool {
	input := s.InputSchema
	if len(input) == 0 {
		input = json.RawMessage(`{"type":"object"}`)
	}
	b := []byte(`{"name":`)
	b = wire.AppendText(b, s.Name)
	b = wire.AppendMember(b, "title", s.Title)
	b = wire.AppendMember(b, "description", s.Description)
	for _, m := range []struct {
		name string
		raw  json.RawMessage
	}{
		{"inputSchema", input},
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
			return nil
		}
		b = append(b, `,"`+m.name+`":`...)
		b = append(b, m.raw...)
	}
	t := &Tool{Name: s.Name, definition: append(b, '}'), ownNames: map[string]bool{}}
	t.HasOutputSchema = len(s.OutputSchema) > 0
	t.Bindings, t.TaskSupport = wire.FindBindings(input, nil), supportOf(s.Execution)
	properties := strictjson.Field(input, "properties")
	for _, name := range []string{argIdempotencyKey, argContextID, argAttachments} {
		t.ownNames[name] = strictjson.Field(properties, name) != nil
	}
	t.Schema = sync.OnceValues(func() (*schema.Schema, error) { return schema.Compile(input) })
	return t
}

// newSelfTool is the agent as a tool, in the shape that all agents share.
func newSelfTool(a *beeos.Agent) *Tool {
	description := a.Definition.Description
	if description == "" {
		description = "Send a message to " + a.Name + " and get its reply."
	}
	b := []byte(`{"name":`)
	b = wire.AppendText(b, a.ID)
	b = wire.AppendMember(b, "title", a.Definition.DisplayName)
	b = wire.AppendMember(b, "description", description)
	b = append(b, `,"inputSchema":`+selfSchema+`}`...)
	t := &Tool{Name: a.ID, definition: b, IsAgent: true}
	t.Schema = sync.OnceValues(func() (*schema.Schema, error) { return schema.Compile([]byte(selfSchema)) })
	return t
}
