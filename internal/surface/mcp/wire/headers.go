package wire

import (
	"encoding/base64"
	"strings"
	"unicode/utf8"
)

// A stateless request repeats parts of its body in headers. A proxy may have
// decided by them, so what they say must be what we do.

const (
	HeaderSession   = "Mcp-Session-Id"
	HeaderVersion   = "Mcp-Protocol-Version"
	HeaderMethod    = "Mcp-Method"
	HeaderName      = "Mcp-Name"
	headerParam     = "Mcp-Param-"
	HeaderLastEvent = "Last-Event-Id"
)

// NameMembers says which member of params a method repeats in Mcp-Name.
var NameMembers = map[string]string{
	"tools/call":     "name",
	"prompts/get":    "name",
	"resources/read": "uri",
	"tasks/get":      "taskId",
	"tasks/update":   "taskId",
	"tasks/cancel":   "taskId",
}

func HasOnly(values []string, want string) bool { return len(values) == 1 && values[0] == want }

// DecodeHeader decodes a header that stands for a JSON value: plain visible
// ASCII, or UTF-8 in base64 between the markers.
func DecodeHeader(values []string) (string, bool) {
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
