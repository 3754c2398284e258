package replies

import (
	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/surface/mcp/wire"
	"github.com/beeos/beeos/internal/wire/strictjson"
)

// What an agent sends goes through as it is, and clients refuse a result as a
// whole for one member of the wrong kind. So the shape is looked at here, where
// it can be said whose fault it is.

// shapes are the members that a content block must have, all of them strings.
var shapes = map[string][]string{
	"text":          {"text"},
	"image":         {"data", "mimeType"},
	"audio":         {"data", "mimeType"},
	"resource_link": {"uri", "name"},
}

// wellFormed reports whether a content block of that type is one. Types that
// are not MCP's are not looked at.
func wellFormed(kindOf string, block []byte) bool {
	if kindOf == "resource" && !isContents(strictjson.Field(block, "resource")) {
		return false
	}
	for _, name := range shapes[kindOf] {
		if wire.Kind(strictjson.Field(block, name)) != '"' {
			return false
		}
	}
	return optionalObject(block, "annotations") && optionalObject(block, "_meta")
}

func optionalObject(obj []byte, name string) bool {
	k := wire.Kind(strictjson.Field(obj, name))
	return k == 0 || k == '{'
}

// isContents reports whether raw is the contents of a resource.
func isContents(raw []byte) bool {
	return wire.Kind(raw) == '{' && wire.Kind(strictjson.Field(raw, "uri")) == '"' &&
		(wire.Kind(strictjson.Field(raw, "text")) == '"') != (wire.Kind(strictjson.Field(raw, "blob")) == '"')
}

// isPromptMessage reports whether raw is a message of a prompt.
func isPromptMessage(raw []byte) bool {
	role, _ := strictjson.StringField(raw, "role")
	block := strictjson.Field(raw, "content")
	t, _ := strictjson.StringField(block, "type")
	return (role == "user" || role == "assistant") && (shapes[t] != nil || t == "resource") && wellFormed(t, block)
}

// checkResult complains about a result that an agent gave whole for a method.
func checkResult(method string, result []byte) error {
	ok := true
	switch method {
	case "resources/read":
		ok = allElements(strictjson.Field(result, "contents"), isContents)
	case "prompts/get":
		ok = allElements(strictjson.Field(result, "messages"), isPromptMessage)
	case "completion/complete":
		ok = allElements(strictjson.Field(strictjson.Field(result, "completion"), "values"), func(v []byte) bool { return wire.Kind(v) == '"' })
	}
	if ok && optionalObject(result, "_meta") {
		return nil
	}
	return malformed(method)
}

func malformed(method string) error {
	return beeos.Errorf(beeos.InternalError, "the agent's answer to %s is not of the method's shape", method)
}

func allElements(array []byte, is func([]byte) bool) bool {
	if wire.Kind(array) != '[' {
		return false
	}
	for v := range strictjson.Elements(array) {
		if !is(v) {
			return false
		}
	}
	return true
}
