package wire

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/beeos/beeos/internal/wire/strictjson"
)

// Binding is one argument of a tool that clients repeat in a header: an
// x-mcp-header in its schema.
type Binding struct {
	header string // Mcp-Param-..., in Go's canonical form
	path   []string
	number bool
}

// FindBindings finds the arguments that a schema wants repeated. Clients refuse
// a tool whose annotations break the rules, so here such ones are left alone.
func FindBindings(schema []byte, path []string) (found []Binding) {
	for name, property := range strictjson.Fields(strictjson.Field(schema, "properties")) {
		at := append(path[:len(path):len(path)], strings.Clone(name))
		header, ok := strictjson.StringField(property, "x-mcp-header")
		kind, _ := strictjson.StringField(property, "type")
		switch {
		case ok && isToken(header) && (kind == "string" || kind == "boolean" || kind == "integer"):
			found = append(found, Binding{http.CanonicalHeaderKey(headerParam + header), at, kind == "integer"})
		case len(at) < 16:
			found = append(found, FindBindings(property, at)...)
		}
	}
	return found
}

// isToken: what RFC 9110 allows in the name of a header.
func isToken(s string) bool {
	return s != "" && len(s) <= 64 && !strings.ContainsFunc(s, func(c rune) bool {
		return c <= ' ' || c >= 0x7f || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, c)
	})
}

// CheckParamHeaders compares a tool's Mcp-Param headers with its arguments.
func CheckParamHeaders(h http.Header, bindings []Binding, arguments []byte) error {
	for _, b := range bindings {
		value := arguments
		for _, step := range b.path {
			value = strictjson.Field(value, step)
		}
		values := h[b.header]
		if k := Kind(value); k == 0 || k == 'n' {
			if values != nil {
				return HeaderMismatch("%s has no argument that it repeats", b.header)
			}
			continue
		}
		if got, ok := DecodeHeader(values); !ok || !b.same(got, value) {
			return HeaderMismatch("%s must be there once and equal the argument %s", b.header, strings.Join(b.path, "."))
		}
	}
	return nil
}

// same reports whether a header says what the argument says. Numbers may be
// written in several ways.
func (b *Binding) same(got string, value []byte) bool {
	if want, ok := strictjson.StringValue(value); ok {
		return got == want
	}
	if b.number {
		g, err1 := strconv.ParseFloat(got, 64)
		w, err2 := strconv.ParseFloat(string(value), 64)
		return err1 == nil && err2 == nil && g == w
	}
	return got == string(value)
}
