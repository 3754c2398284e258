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
	body, ok := wire.Encode(fillPlaceholders(messages, strings.NewReplacer(pairs...)))
	if !ok {
		return nil, beeos.Errorf(beeos.InternalError, "the prompt cannot be encoded")
	}
	b := []byte(`{`)
	if p.Description != "" {
		b = append(wire.AppendText(append(b, `"description":`...), p.Description), ',')
	}
	return append(append(append(b, `"messages":`...), body...), '}'), nil
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
