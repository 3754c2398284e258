package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/beeos/beeos"
)

// answerByTool is the handler of an agent that is one tool, for those who talk to
// it: REST and A2A have no tools. nil = what was said is nothing for the tool.
func (t *Tool) answerByTool(m Message) Handler {
	if t.Handle == nil {
		return nil
	}
	var s flatSchema
	if len(t.Schema) > 0 && json.Unmarshal(t.Schema, &s) != nil {
		return nil
	}
	given := s.readArguments(m.Text)
	if given == nil || !isFlat(t.Schema) {
		return nil
	}
	return func(ctx context.Context, m Message, r *Reply) error {
		if err := s.check(given); err != nil {
			return fmt.Errorf("the arguments do not fit: %w", err)
		}
		raw, err := beeos.EncodeJSON(given)
		if err != nil {
			return err
		}
		m.Tool, m.Arguments = t.Name, raw
		return t.Handle(ctx, m, r)
	}
}

// flatSchema is as much of a JSON Schema as can be checked here: who talks to an
// agent has not been checked by the gateway. A tool with more is not talked to.
type flatSchema struct {
	Properties map[string]struct {
		Type string            `json:"type"`
		Enum []json.RawMessage `json:"enum"`
	} `json:"properties"`
	Required []string `json:"required"`
	More     *bool    `json:"additionalProperties"`
}

var (
	notes      = []string{"title", "description", "default", "examples", "deprecated", "$comment"}
	ofObjects  = append([]string{"type", "properties", "required", "additionalProperties", "$schema"}, notes...)
	ofProperty = append([]string{"type", "enum"}, notes...)
)

// isFlat reports whether a schema says nothing that flatSchema does not know.
func isFlat(schema json.RawMessage) bool {
	if len(schema) == 0 {
		return true
	}
	var whole map[string]json.RawMessage
	var properties map[string]map[string]json.RawMessage
	if json.Unmarshal(schema, &whole) != nil || len(whole["properties"]) > 0 && json.Unmarshal(whole["properties"], &properties) != nil {
		return false
	}
	for keyword := range whole {
		if !slices.Contains(ofObjects, keyword) {
			return false
		}
	}
	for _, property := range properties {
		for keyword := range property {
			if !slices.Contains(ofProperty, keyword) || len(property["type"]) == 0 {
				return false
			}
		}
	}
	return true
}

// readArguments returns the arguments in what somebody says: a JSON object, or the
// text itself where the tool needs one text and no more; nil = it is neither.
func (s *flatSchema) readArguments(text string) (given map[string]json.RawMessage) {
	if json.Unmarshal([]byte(text), &given) == nil && given != nil {
		return given
	}
	if len(s.Required) != 1 || s.Properties[s.Required[0]].Type != "string" {
		return nil
	}
	said, err := beeos.EncodeJSON(text)
	if err != nil {
		return nil
	}
	return map[string]json.RawMessage{s.Required[0]: said}
}

// check says what is wrong with arguments.
func (s *flatSchema) check(given map[string]json.RawMessage) error {
	for _, name := range s.Required {
		if _, there := given[name]; !there {
			return fmt.Errorf("%s is missing", name)
		}
	}
	for name, value := range given {
		property, known := s.Properties[name]
		switch {
		case !known && s.More != nil && !*s.More:
			return fmt.Errorf("there is no argument %s", name)
		case !known:
		case !isOfType(value, property.Type):
			return fmt.Errorf("%s must be of type %s", name, property.Type)
		case property.Enum != nil && !slices.ContainsFunc(property.Enum, func(one json.RawMessage) bool { return bytes.Equal(one, value) }):
			return fmt.Errorf("%s must be one of %s", name, property.Enum)
		}
	}
	return nil
}

func isOfType(value json.RawMessage, kind string) bool {
	var v any
	if json.Unmarshal(value, &v) != nil {
		return false
	}
	switch v.(type) {
	case string:
		return kind == "string"
	case bool:
		return kind == "boolean"
	case float64:
		return kind == "number" || kind == "integer" && !strings.ContainsAny(string(value), ".eE")
	case []any:
		return kind == "array"
	case map[string]any:
		return kind == "object"
	}
	return kind == "null"
}
