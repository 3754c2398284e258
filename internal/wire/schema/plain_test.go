package schema

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestPlainAgreesWithTheLibrary: what is accepted at a glance, the library accepts.
func TestPlainAgreesWithTheLibrary(t *testing.T) {
	schemas := []string{
		`{"type":"object","properties":{"a":{"type":"string","description":"x"},"b":{"type":"integer"}},"required":["a"]}`,
		`{"type":"object","properties":{"a":{"type":"number"},"b":{"type":"boolean"}},"additionalProperties":false}`,
		`{"properties":{"a":{"type":"string"}}}`,
		`{"type":"object","properties":{"a":{"type":"string","minLength":3}}}`,
		`{"type":"object","properties":{"a":{"type":["string","null"]}}}`,
		`{"type":"object","required":["b"]}`,
		`{"type":"object","properties":{"a":true}}`,
		`{"type":"array"}`,
		`{"type":"object"}`,
	}
	values := []string{`"x"`, `""`, `1`, `-1`, `0`, `1.5`, `-0.25`, `1e2`, `1e999`, `true`, `false`, `null`, `{}`, `[]`, `{"a":1}`, `12345678901234567890`}
	names := []string{"a", "b", "c", `\u0061`}
	atAGlance, all := 0, 0
	for _, text := range schemas {
		s, err := Compile([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		try := func(args string) {
			all++
			if !s.plain.accepts([]byte(args)) {
				return
			}
			atAGlance++
			if err := s.judge([]byte(args)); err != nil {
				t.Errorf("%s was accepted for %s: %v", args, text, err)
			}
		}
		for _, v := range append(values, ``) {
			try(v)
		}
		r := rand.New(rand.NewPCG(1, 2))
		for range 2000 {
			var members []string
			for _, i := range r.Perm(len(names))[:r.IntN(3)] {
				members = append(members, fmt.Sprintf(`"%s": %s`, names[i], values[r.IntN(len(values))]))
			}
			try("{" + strings.Join(members, ",") + "}")
		}
	}
	if atAGlance < all/20 || atAGlance > all/2 {
		t.Errorf("%d of %d were accepted at a glance; the test shows nothing", atAGlance, all)
	}
}
