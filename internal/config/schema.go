package config

import (
	"encoding/json"
	"strconv"
	"time"
)

// Schema is the JSON schema of a file of settings, for editors.
func Schema() ([]byte, error) {
	c := Config{}
	properties := map[string]any{}
	for name, f := range c.fileNames() {
		p := map[string]any{"description": f.Help, "type": "string"}
		text := map[string]any{"type": "string"}
		if f.Enum != "" {
			text["enum"] = enumOf(f)
		}
		switch f.Target.Interface().(type) {
		case bool:
			p["type"] = "boolean"
		case int:
			p["type"] = "integer"
			if n, err := strconv.Atoi(f.Default); err == nil {
				p["default"] = n
			}
		case time.Duration:
			p["pattern"] = `^([0-9]+(\.[0-9]+)?(ns|us|ms|s|m|h))+$`
		case []string:
			delete(p, "type")
			p["anyOf"] = []any{map[string]any{"type": "array", "items": text}, map[string]any{"type": "string", "description": "The same, separated by commas."}}
		default:
			if f.Enum != "" {
				p["enum"] = text["enum"]
			}
		}
		if p["type"] == "string" && f.HasDefault && f.Default != "" {
			p["default"] = f.Default
		}
		if name != f.Name {
			p = map[string]any{"type": "string", "description": "Path of a file that holds " + f.Name + "."}
		}
		properties[name] = p
	}
	return json.MarshalIndent(map[string]any{
		"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Settings of BeeOS", "type": "object",
		"additionalProperties": false, "properties": properties,
	}, "", "  ")
}
