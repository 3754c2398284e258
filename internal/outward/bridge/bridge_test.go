package bridge

import (
	"reflect"
	"strings"
	"testing"
)

// TestKindsAreDescribed shows that each row says what people are told about it,
// and which of its options are needed.
func TestKindsAreDescribed(t *testing.T) {
	for _, k := range ListKinds() {
		if k.Title == "" || !strings.HasSuffix(k.About, ".") || k.Options[0].Flag != k.Name || k.Options[0].Example == "" {
			t.Errorf("the row %s: %+v", k.Name, k)
		}
		for _, o := range k.Options {
			if !strings.HasSuffix(o.Help, ".") || strings.HasPrefix(o.Help, "With") || o.Flag == "key" {
				t.Errorf("--%s of %s: %s", o.Flag, k.Name, o.Help)
			}
		}
	}
	if list := ListKinds(); !strings.Contains(list[0].Sample, "sys.stdin") || list[3].Options[1] != (Option{Flag: "model", Help: "The model.", Example: "llama3"}) {
		t.Errorf("the kinds are %+v", list)
	}
}

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
