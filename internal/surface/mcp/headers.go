package mcp

import (
	"encoding/base64"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/wire/httpd"
)

// A stateless request repeats parts of its body in headers. A proxy may have
// decided by them, so what they say must be what we do.

const (
	headerMethod = "Mcp-Method"
	headerName   = "Mcp-Name"
	headerParam  = "Mcp-Param-"
)

// nameMembers says which member of params a method repeats in Mcp-Name.
var nameMembers = map[string]string{
	"tools/call":     "name",
	"prompts/get":    "name",
	"resources/read": "uri",
	"tasks/get":      "taskId",
	"tasks/update":   "taskId",
	"tasks/cancel":   "taskId",
}

// checkHeaders compares the standard headers with the body. A client that is
// tolerated with an older version header may leave them out.
func (x *exchange) checkHeaders(m *message, tolerated bool) error {
	h := x.r.Header
	if !(tolerated && h[headerMethod] == nil) && !isOnly(h[headerMethod], m.method) {
		return headerMismatch("%s must be there once and equal the body's method", headerMethod)
	}
	member := nameMembers[m.method]
	if member == "" || tolerated && h[headerName] == nil {
		return nil
	}
	want, ok := httpd.StringValue(httpd.Field(m.params, member))
	if !ok {
		return nil // the method itself complains about that
	}
	if got, ok := decodeHeader(h[headerName]); !ok || got != want {
		return headerMismatch("%s must be there once and equal params.%s", headerName, member)
	}
	return nil
}

func isOnly(values []string, want string) bool { return len(values) == 1 && values[0] == want }

// decodeHeader decodes a header that stands for a JSON value: plain visible
// ASCII, or UTF-8 in base64 between the markers.
func decodeHeader(values []string) (string, bool) {
	if len(values) != 1 {
		return "", false
	}
	v := values[0]
	if encoded, ok := strings.CutPrefix(v, "=?base64?"); ok {
		if encoded, ok = strings.CutSuffix(encoded, "?="); ok {
			b, err := base64.StdEncoding.Strict().DecodeString(encoded)
			return string(b), err == nil && utf8.Valid(b) && !strings.ContainsAny(encoded, "\r\n")
		}
	}
	for i := range len(v) {
		if c := v[i]; (c < ' ' && c != '\t') || c > '~' {
			return "", false
		}
	}
	return v, true
}

// binding is one argument of a tool that clients repeat in a header: an
// x-mcp-header in its schema.
type binding struct {
	header string // Mcp-Param-..., in Go's canonical form
	path   []string
	number bool
}

// bindings finds the arguments that a schema wants repeated. Clients refuse
// a tool whose annotations break the rules, so here such ones are left alone.
func bindings(schema []byte, path []string) (found []binding) {
	for name, property := range httpd.Fields(httpd.Field(schema, "properties")) {
		at := append(path[:len(path):len(path)], strings.Clone(name))
		header, ok := httpd.StringValue(httpd.Field(property, "x-mcp-header"))
		kind, _ := httpd.StringValue(httpd.Field(property, "type"))
		switch {
		case ok && isToken(header) && (kind == "string" || kind == "boolean" || kind == "integer"):
			found = append(found, binding{http.CanonicalHeaderKey(headerParam + header), at, kind == "integer"})
		case len(at) < 16:
			found = append(found, bindings(property, at)...)
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

// checkParams compares a tool's Mcp-Param headers with its arguments.
func (x *exchange) checkParams(t *tool, arguments []byte) error {
	if !x.version.stateless() {
		return nil
	}
	for _, b := range t.bindings {
		value := arguments
		for _, step := range b.path {
			value = httpd.Field(value, step)
		}
		values := x.r.Header[b.header]
		if k := kind(value); k == 0 || k == 'n' {
			if values != nil {
				return headerMismatch("%s has no argument that it repeats", b.header)
			}
			continue
		}
		if got, ok := decodeHeader(values); !ok || !b.same(got, value) {
			return headerMismatch("%s must be there once and equal the argument %s", b.header, strings.Join(b.path, "."))
		}
	}
	return nil
}

// same reports whether a header says what the argument says. Numbers may be
// written in several ways.
func (b *binding) same(got string, value []byte) bool {
	if want, ok := httpd.StringValue(value); ok {
		return got == want
	}
	if b.number {
		g, err1 := strconv.ParseFloat(got, 64)
		w, err2 := strconv.ParseFloat(string(value), 64)
		return err1 == nil && err2 == nil && g == w
	}
	return got == string(value)
}

func headerMismatch(format string, args ...any) error {
	return &fault{
		err:    beeos.Errorf(beeos.InvalidParam, "Header mismatch: "+format, args...),
		number: numberHeaderMismatch,
		status: http.StatusBadRequest,
	}
}
