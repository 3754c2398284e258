package schema

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// TestMaskHidesWhatSchemasName: wherever a schema names it, and nothing else, which
// stays byte for byte.
func TestMaskHidesWhatSchemasName(t *testing.T) {
	for name, c := range map[string]struct{ schema, doc, want string }{
		"writeOnly":          {`{"properties":{"p":{"writeOnly":true}}}`, `{ "p" : "x" , "q":1.0 }`, `{ "p" : "•••" , "q":1.0 }`},
		"format":             {`{"properties":{"p":{"type":"string","format":"password"}}}`, `{"p":"x"}`, `{"p":"•••"}`},
		"x-secret":           {`{"properties":{"p":{"x-secret":true}}}`, `{"p":{"deep":[1]}}`, `{"p":"•••"}`},
		"false is no":        {`{"properties":{"p":{"x-secret":false,"writeOnly":"true"}}}`, `{"p":1}`, `{"p":1}`},
		"null stays":         {`{"properties":{"p":{"x-secret":true}}}`, `{"p":null}`, `{"p":null}`},
		"nested":             {`{"properties":{"a":{"properties":{"b":{"x-secret":true}}}}}`, `{"a":{"b":1,"c":2},"b":3}`, `{"a":{"b":"•••","c":2},"b":3}`},
		"a list":             {`{"properties":{"l":{"items":{"properties":{"k":{"x-secret":true}}}}}}`, `{"l":[{"k":1},{"k":2,"n":3}]}`, `{"l":[{"k":"•••"},{"k":"•••","n":3}]}`},
		"a list of secrets":  {`{"properties":{"l":{"items":{"format":"password"}}}}`, `{"l":["a",null,"b"]}`, `{"l":["•••",null,"•••"]}`},
		"a tuple":            {`{"properties":{"l":{"prefixItems":[{},{"x-secret":true}]}}}`, `{"l":[1,2,3]}`, `{"l":[1,"•••",3]}`},
		"$ref":               {`{"properties":{"a":{"$ref":"#/$defs/k~1ey"}},"$defs":{"k/ey":{"writeOnly":true}}}`, `{"a":1}`, `{"a":"•••"}`},
		"$anchor":            {`{"properties":{"a":{"$ref":"#key"}},"$defs":{"k":{"$anchor":"key","writeOnly":true}}}`, `{"a":1}`, `{"a":"•••"}`},
		"$ref into itself":   {`{"properties":{"next":{"$ref":"#"},"p":{"x-secret":true}}}`, `{"next":{"next":{"p":1}}}`, `{"next":{"next":{"p":"•••"}}}`},
		"$ref in circles":    {`{"$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}},"$ref":"#/$defs/a"}`, `{"p":1}`, `{"p":1}`},
		"$ref to elsewhere":  {`{"properties":{"a":{"$ref":"https://x/y"},"b":{"$ref":"#/none"}}}`, `{"a":1,"b":2,"c":3}`, `{"a":"•••","b":"•••","c":3}`},
		"allOf":              {`{"allOf":[{"properties":{"a":{}}},{"properties":{"a":{"x-secret":true}}}]}`, `{"a":1}`, `{"a":"•••"}`},
		"anyOf":              {`{"properties":{"a":{"anyOf":[{"type":"null"},{"type":"string","format":"password"}]}}}`, `{"a":"x"}`, `{"a":"•••"}`},
		"oneOf":              {`{"oneOf":[{"properties":{"a":{"x-secret":true}}},{"properties":{"b":{}}}]}`, `{"a":1,"b":2}`, `{"a":"•••","b":2}`},
		"then":               {`{"if":{},"then":{"properties":{"a":{"x-secret":true}}}}`, `{"a":1}`, `{"a":"•••"}`},
		"other properties":   {`{"properties":{"a":{}},"additionalProperties":{"x-secret":true}}`, `{"a":1,"b":2}`, `{"a":1,"b":"•••"}`},
		"patterns":           {`{"patternProperties":{"^k_":{"x-secret":true},"(":{"x-secret":true}}}`, `{"k_1":1}`, `{"k_1":"•••"}`},
		"a twice named":      {`{"properties":{"p":{"x-secret":true}}}`, `{"p":1,"p":2}`, `{"p":"•••","p":"•••"}`},
		"the whole":          {`{"x-secret":true}`, `{"p":1}`, `"•••"`},
		"a name like one":    {`{"properties":{"writeOnly":{"type":"boolean"},"format":{}}}`, `{"writeOnly":true,"format":"password"}`, `{"writeOnly":true,"format":"password"}`},
		"no JSON":            {`{}`, `{"p":`, `"•••"`},
		"a schema of no use": {`{`, `{"p":1,"q":{"r":2}}`, `{"p":"•••","q":"•••"}`},
		"none at all":        {``, `{"p":1}`, `{"p":1}`},
		"nothing":            {`{"x-secret":true}`, ``, ``},
	} {
		if got := string(ReadSecrets(json.RawMessage(c.schema)).Mask(json.RawMessage(c.doc))); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
		if names := NamesSecrets(json.RawMessage(c.schema)); !names && c.doc != c.want && name != "no JSON" {
			t.Errorf("%s: it is said to name nothing", name)
		}
	}
}

// TestMaskOfSeveralSchemas: what one of them names is secret, and without any
// everything is.
func TestMaskOfSeveralSchemas(t *testing.T) {
	old, now := json.RawMessage(`{"properties":{"p":{"x-secret":true}}}`), json.RawMessage(`{"properties":{"q":{"x-secret":true}}}`)
	doc := json.RawMessage(`{"p":1,"q":2,"r":3}`)
	if got := string(ReadSecrets(old, nil, now).Mask(doc)); got != `{"p":"•••","q":"•••","r":3}` {
		t.Error(got)
	}
	if got := string(Secrets{}.Mask(doc)); got != `{"p":"•••","q":"•••","r":"•••"}` {
		t.Error(got)
	}
	if NamesSecrets(nil) || NamesSecrets(json.RawMessage(`{"properties":{"format":{"type":"string"}}}`)) {
		t.Error("nothing is named")
	}
}

// TestMaskIsBounded: a schema that doubles with each level takes no minute, and what
// was not looked at is not shown.
func TestMaskIsBounded(t *testing.T) {
	var defs []string
	for i := range 30 {
		defs = append(defs, fmt.Sprintf(`"d%d":{"anyOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]}`, i, i+1, i+1))
	}
	raw := json.RawMessage(`{"$ref":"#/$defs/d0","$defs":{` + strings.Join(defs, ",") + `,"d30":{"properties":{"p":{"x-secret":true}}}}}`)
	if got := string(ReadSecrets(raw).Mask(json.RawMessage(`{"p":1,"q":2}`))); got != `{"p":"•••","q":2}` {
		t.Error(got)
	}
	var list []string
	for i := range 1000 {
		list = append(list, fmt.Sprintf(`{"items":{"minimum":%d}}`, i))
	}
	wide := ReadSecrets(json.RawMessage(`{"properties":{"l":{"allOf":[` + strings.Join(list, ",") + `]}}}`))
	got := string(wide.Mask(json.RawMessage(`{"l":[` + strings.Repeat(`"x",`, 1000) + `"last"]}`)))
	if strings.Contains(got, "last") || !strings.HasPrefix(got, `{"l":["x","x"`) {
		t.Error(got[:100])
	}
}

// TestRestore: an edit that leaves the mask means the secret, one that changes it
// means what it says, and a mask that hid nothing is text.
func TestRestore(t *testing.T) {
	s := ReadSecrets(json.RawMessage(`{"properties":{"p":{"x-secret":true},"l":{"items":{"properties":{"k":{"x-secret":true}}}}}}`))
	const stored = `{"p":"hush","note":"n","big":12345678901234567890,"l":[{"h":"a","k":1},{"h":"b","k":2}]}`
	for name, c := range map[string]struct{ edited, want, unclear string }{
		"left alone":        {`{"p":"•••","note":"m"}`, `{"note":"m","p":"hush"}`, ""},
		"changed":           {`{"p":"loud","note":"n"}`, `{"p":"loud","note":"n"}`, ""},
		"taken out":         {`{"note":"n"}`, `{"note":"n"}`, ""},
		"typed elsewhere":   {`{"p":"•••","note":"•••","new":"•••"}`, `{"new":"•••","note":"•••","p":"hush"}`, ""},
		"numbers":           {`{"p":"•••","big":12345678901234567890}`, `{"big":12345678901234567890,"p":"hush"}`, ""},
		"an item changed":   {`{"l":[{"h":"x","k":"•••"},{"h":"b","k":"•••"}]}`, `{"l":[{"h":"x","k":1},{"h":"b","k":2}]}`, ""},
		"items swapped":     {`{"l":[{"h":"b","k":"•••"},{"h":"a","k":"•••"}]}`, `{"l":[{"h":"b","k":2},{"h":"a","k":1}]}`, ""},
		"an item taken out": {`{"l":[{"h":"b","k":"•••"}]}`, `{"l":[{"h":"b","k":2}]}`, ""},
		"an item added":     {`{"l":[{"h":"a","k":"•••"},{"h":"b","k":"•••"},{"h":"c","k":3}]}`, `{"l":[{"h":"a","k":1},{"h":"b","k":2},{"h":"c","k":3}]}`, ""},
		"no telling whose":  {`{"l":[{"h":"c","k":"•••"}]}`, `{"l":[{"h":"c","k":"•••"}]}`, "/l/0"},
	} {
		got, unclear, err := s.Restore(json.RawMessage(c.edited), json.RawMessage(stored))
		if err != nil || string(got) != c.want || unclear != c.unclear {
			t.Errorf("%s: %s, %q, %v; want %s", name, got, unclear, err, c.want)
		}
	}
	twins := `{"l":[{"h":"a","k":1},{"h":"a","k":2}]}`
	if _, unclear, err := s.Restore(json.RawMessage(`{"l":[{"h":"a","k":"•••"}]}`), json.RawMessage(twins)); unclear != "/l/0" || err != nil {
		t.Errorf("one of two that look alike: %q, %v", unclear, err)
	}
	if !s.HasMask(json.RawMessage(`{"p":"\u2022\u2022\u2022"}`)) || s.HasMask(json.RawMessage(`{"p":"x","note":"•••"}`)) {
		t.Error("HasMask")
	}
}
