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
		{name: "wrong type", schema: `{"properties":{"a":{"type":"string"}}}`, args: `{"a":1}`, check: `/properties/a: type: 1`},
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
