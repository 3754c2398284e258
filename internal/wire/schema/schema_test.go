package schema

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// doubling is a schema whose every level applies the next one twice.
func doubling(levels int) string {
	var b strings.Builder
	b.WriteString(`{"$ref":"#/$defs/l0","$defs":{`)
	for i := range levels {
		fmt.Fprintf(&b, `"l%d":{"allOf":[{"$ref":"#/$defs/l%d"},{"$ref":"#/$defs/l%d"}]},`, i, i+1, i+1)
	}
	fmt.Fprintf(&b, `"l%d":{}}}`, levels)
	return b.String()
}

func nested(open, leaf, end string, depth int) string {
	return strings.Repeat(open, depth) + leaf + strings.Repeat(end, depth)
}

// TestBadSchemasAreRefused: an agent's schema may be wrong, endless or a bomb.
func TestBadSchemasAreRefused(t *testing.T) {
	const tree = `{"type":"object","properties":{"v":{"type":"integer"},"kids":{"type":"array","items":{"$ref":"#"}}},"additionalProperties":false}`
	tests := []struct {
		name, schema, args string
		compile, check     string // a part of the complaint; empty = none
	}{
		{name: "fits", schema: `{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`, args: `{"a":"x"}`},
		{name: "missing", schema: `{"type":"object","required":["a"]}`, args: `{}`, check: `missing properties: ["a"]`},
		{name: "wrong type", schema: `{"properties":{"a":{"type":"string"}}}`, args: `{"a":1}`, check: `/properties/a: type: has type "integer"`},
		{name: "recursive", schema: tree, args: `{"v":1,"kids":[{"v":2,"kids":[]},{}]}`},
		{name: "recursive, wrong deep inside", schema: tree, args: `{"kids":[{"kids":[{"v":"x"}]}]}`, check: "/properties/v"},
		{name: "anchor", schema: `{"properties":{"a":{"$ref":"#n"}},"$defs":{"x":{"$anchor":"n","type":"number"}}}`, args: `{"a":"x"}`, check: "type"},
		{name: "conditions", schema: `{"if":{"required":["a"]},"then":{"required":["b"]},"else":{}}`, args: `{"a":1}`, check: "missing"},
		{name: "number out of range", schema: `{}`, args: `{"a":1e400}`, check: "out of range"},
		{name: "large integers", schema: `{"properties":{"a":{"type":"integer"}}}`, args: `{"a":9223372036854775808}`},

		{name: "remote $ref", schema: `{"$ref":"http://127.0.0.1:1/x.json"}`, compile: "points outside"},
		{name: "file $ref", schema: `{"properties":{"a":{"$ref":"file:///etc/hostname"}}}`, compile: "points outside"},
		{name: "$ref to nowhere", schema: `{"$ref":"#/$defs/none"}`, compile: "leads nowhere"},
		{name: "$dynamicRef", schema: `{"$dynamicRef":"#x"}`, compile: "$dynamicRef"},
		{name: "inner $id", schema: `{"properties":{"a":{"$id":"http://x/","$ref":"#"}}}`, compile: "$id"},
		{name: "not an object", schema: `true`, compile: "not an object"},
		{name: "broken", schema: `{"type":`, compile: "unexpected end"},
		{name: "bad keyword", schema: `{"type":5}`, compile: "5"},
		{name: "bad pattern", schema: `{"properties":{"a":{"pattern":"("}}}`, args: `{"a":"x"}`, compile: "regexp"},
		{name: "too large", schema: `{"description":"` + strings.Repeat("x", schemaMax) + `"}`, compile: "larger than"},

		{name: "endless", schema: `{"$ref":"#"}`, args: `{}`, check: "too large"},
		{name: "endless in a circle", schema: `{"allOf":[{"$ref":"#/$defs/a"}],"$defs":{"a":{"anyOf":[{"$ref":"#"}]}}}`, args: `{}`, check: "too large"},
		{name: "doubling 22", schema: doubling(22), args: `{}`, check: "too large"},
		{name: "doubling 10", schema: doubling(10), args: `{}`},
		{
			name:   "doubling along the value",
			schema: `{"allOf":[{"properties":{"a":{"$ref":"#"}}},{"properties":{"a":{"$ref":"#"}}}]}`,
			args:   nested(`{"a":`, `1`, `}`, 90), check: "too large",
		},
		{
			name:   "many branches that print a large value",
			schema: `{"properties":{"a":{"anyOf":[` + strings.TrimSuffix(strings.Repeat(`{"type":"null"},`, 3000), ",") + `]}}}`,
			args:   `{"a":"` + strings.Repeat("x", 900_000) + `"}`, check: "too large",
		},
		{
			name:   "optional fields as generators write them, large text",
			schema: `{"properties":{` + strings.TrimSuffix(optionals(30), ",") + `}}`,
			args:   `{"f0":"` + strings.Repeat("x", 900_000) + `","f1":null}`,
		},
		{
			name:   "a deep chain that prints a large value at every level",
			schema: `{"properties":{"a":` + nested(`{"allOf":[`, `{"type":"null"}`, `]}`, 400) + `}}`,
			args:   `{"a":"` + strings.Repeat("x", 900_000) + `"}`, check: "too large",
		},
		{name: "evil regexp", schema: `{"properties":{"a":{"pattern":"(a+)+$"}}}`, args: `{"a":"` + strings.Repeat("a", 50_000) + `!"}`, check: "pattern"},
		{
			name:   "a regexp that counts",
			schema: `{"properties":{"a":{"pattern":"(a|b|ab){1,900}c$"}}}`,
			args:   `{"a":"` + strings.Repeat("ab", 10_000) + `"}`, check: "too large",
		},
		{
			name:   "a regexp that counts, for names",
			schema: `{"patternProperties":{"(a|b|ab){1,900}c$":{}}}`,
			args:   `{"` + strings.Repeat("ab", 10_000) + `":1}`, check: "too large",
		},
		{name: "a regexp that counts little", schema: `{"properties":{"a":{"pattern":"^[0-9a-f]{64}$"}}}`, args: `{"a":"` + strings.Repeat("f", 64) + `"}`},
		{name: "a plain regexp on a large text", schema: `{"properties":{"a":{"pattern":"^[A-Za-z0-9+/]*={0,2}$"}}}`, args: `{"a":"` + strings.Repeat("x", 900_000) + `"}`},
		{
			name:   "regexps that take gigabytes",
			schema: `{"allOf":[` + strings.TrimSuffix(strings.Repeat(`{"pattern":"x{1000}"},`, 9000), ",") + `]}`,
			args:   `{}`, compile: "too large",
		},
		{
			name:   "many properties on many empty objects",
			schema: `{"properties":{"a":{"items":{"properties":{` + names(5000, `"p%d":{}`) + `}}}}}`,
			args:   `{"a":[` + strings.Repeat("{},", 90_000) + `{}]}`, check: "too large",
		},
		{
			name:   "many required names on many objects",
			schema: `{"properties":{"a":{"items":{"anyOf":[{"required":[` + names(5000, `"p%d"`) + `]},{}]}}}}`,
			args:   `{"a":[` + strings.Repeat("{},", 30_000) + `{}]}`, check: "too large",
		},
		{
			name:   "many dependent names on many objects",
			schema: `{"properties":{"a":{"items":{"dependentRequired":{"x":[` + names(5000, `"x","p%d"`) + `]}}}}}`,
			args:   `{"a":[` + strings.Repeat(`{"x":1},`, 30_000) + `{}]}`, check: "too large",
		},
		{
			name:   "a long enum on a long list",
			schema: `{"properties":{"a":{"contains":{"enum":[` + names(20_000, `"v%d"`) + `]},"minContains":0}}}`,
			args:   `{"a":[` + strings.Repeat(`"",`, 90_000) + `""]}`, check: "too large",
		},
		{
			name:   "a large constant on a long list",
			schema: `{"properties":{"a":{"contains":{"const":[` + names(20_000, `%d`) + `]},"minContains":0}}}`,
			args:   `{"a":[` + strings.Repeat(`[0],`, 90_000) + `[0]]}`, check: "too large",
		},
		{
			name:   "rows of a table",
			schema: `{"properties":{"a":{"items":{"properties":{` + names(40, `"p%d":{"enum":["a","b","c"]}`) + `},"required":["p1","p2"]}}}}`,
			args:   `{"a":[` + strings.Repeat(`{"p1":"a","p2":"b","p3":"c"},`, 2000) + `{"p1":"a","p2":"b"}]}`,
		},
		{name: "a long list", schema: `{"properties":{"a":{"items":{"anyOf":[{"type":"integer"},{"type":"null"}]}}}}`, args: `{"a":[` + strings.Repeat("1,", 20_000) + `null]}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			start := time.Now()
			s, err := Compile([]byte(tt.schema))
			complain(t, "compile", err, tt.compile)
			if s != nil {
				complain(t, "check", s.Check([]byte(tt.args)), tt.check)
			}
			if took := time.Since(start); took > time.Minute { // 50 ms on an idle machine, minutes where a limit is missing
				t.Errorf("took %v", took)
			}
		})
	}
}

func optionals(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `"f%d":{"anyOf":[{"type":"string"},{"type":"null"}],"default":null},`, i)
	}
	return b.String()
}

// names is n members or elements, each with its number.
func names(n int, format string) string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf(format, i)
	}
	return strings.Join(list, ",")
}

func complain(t *testing.T, what string, err error, want string) {
	t.Helper()
	switch {
	case err == nil && want != "":
		t.Errorf("%s: no complaint, want %q", what, want)
	case err != nil && (want == "" || !strings.Contains(err.Error(), want)):
		t.Errorf("%s: %.300s, want %q", what, err, want)
	case err != nil && len(err.Error()) > ComplaintSize+100:
		t.Errorf("%s: a complaint of %d bytes", what, len(err.Error()))
	}
}

// TestNullThatSaysNothing: a null may be left out where the property is
// optional and takes no null, and nowhere else.
func TestNullThatSaysNothing(t *testing.T) {
	for property, want := range map[string]bool{
		`{"type":"string"}`:                               true,
		`{"type":["string","integer"]}`:                   true,
		`{"enum":["a","b"]}`:                              true,
		`{"const":1}`:                                     true,
		`{"$ref":"#/$defs/text"}`:                         true,
		`{"anyOf":[{"type":"string"},{"type":"number"}]}`: true,
		`{"allOf":[{},{"type":"string"}]}`:                true,
		`false`:                                           true,
		`{}`:                                              false,
		`true`:                                            false,
		`{"type":["string","null"]}`:                      false,
		`{"enum":["a",null]}`:                             false,
		`{"const":null}`:                                  false,
		`{"oneOf":[{"type":"string"},{"type":"null"}]}`: false,
		`{"$ref":"#/properties/x"}`:                     false,
	} {
		for _, required := range []bool{false, true} {
			list := `[]`
			if required {
				list = `["x"]`
			}
			s, err := Compile([]byte(`{"properties":{"x":` + property + `},"required":` + list + `,"$defs":{"text":{"type":"string"}}}`))
			if err != nil {
				t.Fatal(property, err)
			}
			if got := s.MayOmitNull("x"); got != (want && !required) || s.MayOmitNull("other") {
				t.Errorf("%s, required %v: %v", property, required, got)
			}
		}
	}
}

// TestComplaintsSpeakJSON: a model reads what is wrong, in JSON's words.
func TestComplaintsSpeakJSON(t *testing.T) {
	for _, tt := range []struct{ property, value, want string }{
		{`{"type":"string"}`, `null`, `/properties/x: type: has type "null", want "string"`},
		{`{"type":"string"}`, `{"a":[1,null]}`, `/properties/x: type: has type "object", want "string"`},
		{`{"type":["string","null"]}`, `[{"a":1}]`, `/properties/x: type: has type "array", want one of "string, null"`},
		{`{"enum":["a",null,{"b":1}]}`, `{"c":null}`, `/properties/x: enum: must be one of ["a",null,{"b":1}]`},
		{`{"const":{"a":null}}`, `3`, `/properties/x: const: must be {"a":null}`},
		{`{"minimum":5}`, `3.5`, `/properties/x: minimum: must be at least 5`},
		{`{"multipleOf":2}`, `3`, `/properties/x: multipleOf: must be a multiple of 2`},
		{`{"anyOf":[{"type":"string"},{"type":"null"}]}`, `3`, `/properties/x: anyOf: must fit one of [{"type":"string"},{"type":"null"}]`},
		{`{"oneOf":[{"type":"string"},{"maxLength":9}]}`, `"a"`, `/properties/x: oneOf: must fit exactly one of [{"type":"string"},{"maxLength":9}]`},
		{`{"not":{"type":"null"}}`, `null`, `/properties/x: not: must not fit {"type":"null"}`},
		{`{"contains":{"type":"null"}}`, `[{"a":1}]`, `/properties/x: contains: must have an item that fits {"type":"null"}`},
	} {
		s, err := Compile([]byte(`{"properties":{"x":` + tt.property + `}}`))
		if err != nil {
			t.Fatal(tt.property, err)
		}
		if err := s.Check([]byte(`{"x":` + tt.value + `}`)); err == nil || err.Error() != tt.want {
			t.Errorf("%s for %s:\n got %v\nwant %s", tt.value, tt.property, err, tt.want)
		}
	}
	for _, broken := range []string{`{"properties":5}`, `{"minLength":"x"}`, `{"required":"x"}`, `{"items":5}`, `{"properties":{"x":{"maximum":"a"}}}`} {
		if _, err := Compile([]byte(broken)); err == nil || strings.Contains(err.Error(), "Go ") || strings.Contains(err.Error(), "struct") || strings.Contains(err.Error(), "jsonschema.") {
			t.Errorf("%s: %v", broken, err)
		}
	}
}
