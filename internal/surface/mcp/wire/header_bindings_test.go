package wire

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/beeos/beeos/internal/wire/strictjson"
)

func TestBindings(t *testing.T) {
	schema := `{"properties":{
		"a":{"type":"string","x-mcp-header":"Region"},
		"b":{"type":"number","x-mcp-header":"Number"},
		"c":{"type":"string","x-mcp-header":"two words"},
		"d":{"type":"array","items":{"properties":{"e":{"type":"string","x-mcp-header":"Item"}}}},
		"f":{"type":"object","properties":{"g":{"type":"integer","x-mcp-header":"deep"}}}}}`
	got, _ := json.Marshal(func() (list []string) {
		for _, b := range FindBindings([]byte(schema), nil) {
			list = append(list, b.header+" "+strings.Join(b.path, "."))
		}
		return list
	}())
	if want := `["Mcp-Param-Region a","Mcp-Param-Deep f.g"]`; string(got) != want {
		t.Errorf("bindings %s", got)
	}
}

// FuzzBindings: an agent's schema is whatever an agent wrote.
func FuzzBindings(f *testing.F) {
	f.Add([]byte(`{"properties":{"a":{"type":"string","x-mcp-header":"A"},"b":{"properties":{"c":{"type":"integer","x-mcp-header":"C"}}}}}`), []byte(`{"a":"x","b":{"c":1}}`))
	f.Fuzz(func(t *testing.T, schema, arguments []byte) {
		if strictjson.Check(schema) != nil || strictjson.Check(arguments) != nil || Kind(schema) != '{' || Kind(arguments) != '{' {
			return
		}
		_ = CheckParamHeaders(http.Header{}, FindBindings(schema, nil), arguments) // must not panic
	})
}
