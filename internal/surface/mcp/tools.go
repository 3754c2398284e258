package mcp

import (
	"encoding/json"
	"slices"
	"sync"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/files"
	"github.com/beeos/beeos/internal/engine/invoke"
	"github.com/beeos/beeos/internal/wire/httpd"
)

// tool is one line of tools/list and what a call of it needs.
type tool struct {
	name       string
	definition []byte       // its element of the list
	self       bool         // the agent itself: {message, context_id}
	agent      *beeos.Agent // in a union: whose it is
	meta       bool         // finds or calls other tools
	fetches    bool         // brings the result of a call that took long
	structured bool         // it has an outputSchema

	// declares are the reserved argument names that the tool's own schema
	// uses; they are the tool's then and not ours.
	declares map[string]bool
	tasks    support
	bindings []binding               // arguments that stateless clients repeat in headers
	schema   func() (*schema, error) // compiled at the first call
}

// Arguments that every tool takes besides its own.
const (
	argIdempotencyKey = "idempotency_key"
	argContextID      = "context_id"
	argAttachments    = "attachments"
)

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
	t := &tool{name: s.Name, definition: append(b, '}'), declares: map[string]bool{}}
	t.structured = len(s.OutputSchema) > 0
	t.bindings, t.tasks = bindings(input, nil), supportOf(s.Execution)
	properties := httpd.Field(input, "properties")
	for _, name := range []string{argIdempotencyKey, argContextID, argAttachments} {
		t.declares[name] = httpd.Field(properties, name) != nil
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
	t := &tool{name: a.ID, definition: b, self: true}
	t.schema = sync.OnceValues(func() (*schema, error) { return compile([]byte(selfSchema)) })
	return t
}

func appendMember(b []byte, name, value string) []byte {
	if value == "" {
		return b
	}
	b = append(b, `,"`+name+`":`...)
	return appendText(b, value)
}

// arguments is what a client gave to a tool, sorted out.
type arguments struct {
	own            []byte // an object: the tool's own, as the client wrote them
	idempotencyKey string
	contextID      string
	attachments    []files.Attachment
}

// split takes the reserved arguments out of raw, which is an object or nil.
func (t *tool) split(raw []byte) (arguments, error) {
	a := arguments{own: raw}
	if kind(raw) != '{' {
		a.own = []byte(`{}`)
		return a, nil
	}
	reserved := false
	for name, value := range httpd.Fields(raw) {
		ours, err := t.reserved(&a, name, value)
		if err != nil {
			return a, err
		}
		reserved = reserved || ours
	}
	if reserved {
		a.own = t.without(raw)
	}
	return a, nil
}

// reserved reads one argument if it is ours.
func (t *tool) reserved(a *arguments, name string, value []byte) (ours bool, err error) {
	if !t.isReserved(name) {
		return false, nil
	}
	if kind(value) == 'n' {
		return true, nil
	}
	ok := true
	switch name {
	case argIdempotencyKey:
		a.idempotencyKey, ok = httpd.StringValue(value)
		if !ok || a.idempotencyKey == "" {
			return true, invoke.ErrIdempotencyKey
		}
	case argContextID:
		a.contextID, ok = httpd.StringValue(value)
		if !ok {
			return true, beeos.Errorf(beeos.InvalidParam, "context_id must be a string")
		}
	case argAttachments:
		if json.Unmarshal(value, &a.attachments) != nil {
			return true, beeos.Errorf(beeos.InvalidParam, "attachments must be a list of {file_id, filename, content_type}")
		}
	}
	return true, nil
}

func (t *tool) isReserved(name string) bool {
	switch name {
	case argIdempotencyKey, argContextID, argAttachments:
		return !t.declares[name]
	}
	return false
}

func (t *tool) without(raw []byte) []byte { return prune(raw, t.isReserved) }

// without returns obj itself when it has no members of those names.
func without(obj []byte, names []string) []byte {
	gone := func(name string) bool { return slices.Contains(names, name) }
	for name := range httpd.Fields(obj) {
		if gone(name) {
			return prune(obj, gone)
		}
	}
	return obj
}

// prune copies an object without the members that are to go.
func prune(raw []byte, gone func(name string) bool) []byte {
	b := append(make([]byte, 0, len(raw)), '{')
	for name, value := range httpd.Fields(raw) {
		if gone(name) {
			continue
		}
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = appendText(b, name)
		b = append(b, ':')
		b = append(b, value...)
	}
	return append(b, '}')
}
