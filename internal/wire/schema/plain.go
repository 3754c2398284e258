package schema

import "github.com/beeos/beeos/internal/wire/strictjson"

// plain accepts at a glance what most tools are called with: an object of strings,
// numbers and booleans. It only ever says yes. What it does not know, and what is
// wrong, is the library's to judge: that takes ten times as long, and more stack
// than the rest of a call together.
type plain struct {
	properties map[string]property
	required   uint64 // the bits of those that must be there
}

type property struct {
	fits func(raw []byte) bool
	bit  uint64
}

// annotations are keywords that say nothing about which values fit.
var annotations = map[string]bool{"$schema": true, "title": true, "description": true, "default": true, "examples": true, "deprecated": true}

var plainTypes = map[string]func([]byte) bool{
	"string":  func(raw []byte) bool { return raw[0] == '"' },
	"boolean": func(raw []byte) bool { return raw[0] == 't' || raw[0] == 'f' },
	"integer": func(raw []byte) bool { return isShortNumber(raw, false) },
	"number":  func(raw []byte) bool { return isShortNumber(raw, true) },
}

// newPlain returns nil for a schema that says more than what plain looks at.
func newPlain(root any) *plain {
	p := &plain{properties: map[string]property{}}
	var required []any
	for keyword, v := range root.(map[string]any) {
		ok := annotations[keyword]
		switch keyword {
		case "type":
			ok = v == "object"
		case "properties":
			ok = p.addProperties(v)
		case "required":
			required, ok = v.([]any)
		case "additionalProperties": // others are left to the library
			_, ok = v.(bool)
		}
		if !ok {
			return nil
		}
	}
	for _, name := range required {
		known, ok := p.properties[name.(string)] // the library has read it as texts
		if !ok {
			return nil
		}
		p.required |= known.bit
	}
	return p
}

func (p *plain) addProperties(v any) bool {
	all, ok := v.(map[string]any)
	if !ok || len(all) > 64 {
		return false
	}
	for name, v := range all {
		said, ok := v.(map[string]any)
		if !ok {
			return false
		}
		kind, _ := said["type"].(string)
		fits, ok := plainTypes[kind]
		for keyword := range said {
			ok = ok && (keyword == "type" || annotations[keyword])
		}
		if !ok {
			return false
		}
		p.properties[name] = property{fits, 1 << len(p.properties)}
	}
	return true
}

// accepts reports whether args surely fit.
func (p *plain) accepts(args []byte) bool {
	if p == nil || len(args) == 0 || args[0] != '{' {
		return false
	}
	seen := uint64(0)
	for name, raw := range strictjson.Fields(args) {
		known, ok := p.properties[name]
		if !ok || !known.fits(raw) {
			return false
		}
		seen |= known.bit
	}
	return seen&p.required == p.required
}

// isShortNumber reports whether a value is a number that every program reads alike.
func isShortNumber(raw []byte, fraction bool) bool {
	if raw[0] == '-' {
		raw = raw[1:]
	}
	for _, c := range raw {
		if (c < '0' || c > '9') && (c != '.' || !fraction) {
			return false
		}
	}
	return len(raw) > 0 && len(raw) <= 15
}
