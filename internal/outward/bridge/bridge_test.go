package bridge

import (
	"reflect"
	"strings"
	"testing"
)

// TestRowsAreBridges shows that each row of the table is a bridge that a flag
// and a field of a file choose, both called what the kind is called.
func TestRowsAreBridges(t *testing.T) {
	for i, row := range reflect.VisibleFields(reflect.TypeFor[Kinds]()) {
		name := KindNames()[i]
		if _, ok := reflect.New(row.Type).Interface().(Bridge); !ok {
			t.Errorf("the row %s is not a bridge", row.Name)
		}
		if first := row.Type.Field(0).Tag; first.Get("name") != name || first.Get("yaml") != name || first.Get("xor") != "what" {
			t.Errorf("the first option of %s does not choose it: %s", row.Name, first)
		}
		f, err := ReadFile(writeAgents(t, "  - {name: x, "+name+": \"https://example.com/x?a=b&c=d\", model: m}\n"))
		if err != nil || len(f.entries) != 1 || f.entries[0].Name != "x" || reflect.TypeOf(f.entries[0].bridge).Elem() != row.Type {
			t.Errorf("%s in a file: %+v, %v", name, f, err)
		}
	}
	f, err := ReadFile(writeAgents(t, "  - {name: x, mcp: \"https://example.com/x?a=b&c=d\"}\n"))
	if err != nil || !strings.HasSuffix(f.entries[0].MCP.Server.URL(), "c=d") {
		t.Errorf("an address is no line for the shell: %+v, %v", f, err)
	}
}
