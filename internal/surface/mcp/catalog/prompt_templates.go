package catalog

import (
	"encoding/json"
	"strings"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/surface/mcp/wire"
	"github.com/beeos/beeos/internal/wire/strictjson"
)

// PromptArguments reads the arguments, which are strings by the protocol.
func PromptArguments(p *beeos.Prompt, raw []byte) (map[string]string, error) {
	given := map[string]string{}
	for name, value := range strictjson.Fields(raw) {
		s, ok := strictjson.StringValue(value)
		if !ok {
			return nil, beeos.Errorf(beeos.InvalidParam, "prompt argument %.100q must be a string", name)
		}
		given[name] = s
	}
	for _, a := range p.Arguments {
		if _, ok := given[a.Name]; a.Required && !ok {
			return nil, beeos.Errorf(beeos.InvalidParam, "missing prompt argument %q", a.Name)
		}
	}
	return given, nil
}

// DropNullArguments leaves out the arguments of a prompt that are null, which
// none can be: some clients send what nobody filled in that way.
func DropNullArguments(params []byte) []byte {
	given := strictjson.Field(params, "arguments")
	nulls := map[string]bool{}
	for name, value := range strictjson.Fields(given) {
		if wire.Kind(value) == 'n' {
			nulls[name] = true
		}
	}
	if len(nulls) == 0 {
		return params
	}
	return wire.ReplaceMember(params, "arguments", wire.PruneMembers(given, func(name string) bool { return nulls[name] }))
}

// RenderPrompt puts the arguments into the texts of a static prompt. They go
// in as decoded strings, one pass, so an argument can bring neither JSON nor
// another placeholder along.
func RenderPrompt(p *beeos.Prompt, given map[string]string) ([]byte, error) {
	var messages any
	if err := json.Unmarshal(p.Messages, &messages); err != nil {
		return nil, err
	}
	pairs := make([]string, 0, 2*len(p.Arguments))
	for _, a := range p.Arguments {
		pairs = append(pairs, "{"+a.Name+"}", given[a.Name])
	}
	result := map[string]any{"messages": fillPlaceholders(messages, strings.NewReplacer(pairs...))}
	if p.Description != "" {
		result["description"] = p.Description
	}
	return beeos.EncodeJSON(result)
}

func fillPlaceholders(v any, with *strings.Replacer) any {
	switch v := v.(type) {
	case string:
		return with.Replace(v)
	case []any:
		for i := range v {
			v[i] = fillPlaceholders(v[i], with)
		}
	case map[string]any:
		for name := range v {
			v[name] = fillPlaceholders(v[name], with)
		}
	}
	return v
}
