package mcp

import (
	"encoding/json"
	"sync"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/wire/httpd"
)

// tool is one line of tools/list and what a call of it needs.
type tool struct {
	name            string
	definition      []byte       // its element of the list
	isAgent         bool         // the agent itself: {message, context_id}
	agent           *beeos.Agent // in a union: whose it is
	isMeta          bool         // finds or calls other tools
	isFetch         bool         // brings the result of a call that took long
	hasOutputSchema bool         // it has an outputSchema

	// declares are the reserved argument names that the tool's own schema
	// uses; they are the tool's then and not ours.
	ownNames    map[string]bool
	taskSupport taskSupport
	bindings    []binding               // arguments that stateless clients repeat in headers
	schema      func() (*schema, error) // compiled at the first call
}

const selfSchema = `{"type":"object","properties":{"message":{"type":"string"},"context_id":{"type":"string"}},"required":["message"]}`

// newTool returns nil for a skill whose JSON is broken.
func newTool(s *beeos.Skill) *tool {
	input := s.InputSchema
	if len(input) == 0 {
		input = json.RawMessage(`{"type":"object"}`)
	}
	b := []byte(`{"name":`)
	b = appendText(b, s.Name)
	b = appendMember(b, "title", s.Title)
	b = appendMember(b, "description", s.Description)
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
	t := &tool{name: s.Name, definition: append(b, '}'), ownNames: map[string]bool{}}
	t.hasOutputSchema = len(s.OutputSchema) > 0
	t.bindings, t.taskSupport = findBindings(input, nil), supportOf(s.Execution)
	properties := httpd.Field(input, "properties")
	for _, name := range []string{argIdempotencyKey, argContextID, argAttachments} {
		t.ownNames[name] = httpd.Field(properties, name) != nil
	}
	t.schema = sync.OnceValues(func() (*schema, error) { return compile(input) })
	return t
}

// newSelfTool is the agent as a tool, in the shape that all agents share.
func newSelfTool(a *beeos.Agent) *tool {
	description := a.Definition.Description
	if description == "" {
		description = "Send a message to " + a.Name + " and get its reply."
	}
	b := []byte(`{"name":`)
	b = appendText(b, a.ID)
	b = appendMember(b, "title", a.Definition.DisplayName)
	b = appendMember(b, "description", description)
	b = append(b, `,"inputSchema":`+selfSchema+`}`...)
	t := &tool{name: a.ID, definition: b, isAgent: true}
	t.schema = sync.OnceValues(func() (*schema, error) { return compile([]byte(selfSchema)) })
	return t
}
