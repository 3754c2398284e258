package calls

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"net/url"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/wire/strictjson"
)

// The contract has six types of parts, and clients that were generated from it
// fail on any other. Agents write more: the content blocks of MCP, and what
// they make up. Here all of them become one of the six.

// customView is the contract's PartCustom: Data is the part as its agent wrote
// it, and Kind the type that it has there.
type customView struct {
	Type string          `json:"type"`
	Kind string          `json:"kind"`
	Data json.RawMessage `json:"data"`
}

const unknownMIMEType = "application/octet-stream"

// viewParts translates a list of parts.
func viewParts(parts json.RawMessage) json.RawMessage {
	if trimmed := bytes.TrimSpace(parts); len(trimmed) == 0 || bytes.Equal(trimmed, []byte("null")) {
		return nil
	}
	list := []byte{'['}
	for raw := range strictjson.Elements(parts) {
		if len(list) > 1 {
			list = append(list, ',')
		}
		list = append(list, viewPart(raw)...)
	}
	return append(list, ']')
}

// viewPart translates one part.
func viewPart(raw json.RawMessage) json.RawMessage {
	kind, _ := strictjson.StringField(raw, "type")
	switch kind {
	case "thinking", "tool_use", "tool_result", "source", "custom":
		if hasShape(kind, raw) {
			return raw
		}
	case "file", "resource_link":
		if f, ok := viewLink(raw); ok {
			return encodePart(f, raw)
		}
	case "image", "audio":
		if f, ok := viewContent(raw); ok {
			return encodePart(f, raw)
		}
	}
	return encodePart(customView{"custom", cmp.Or(kind, "unknown"), raw}, raw)
}

// encodePart falls back on what the agent wrote, which cannot happen: it was
// JSON when it came.
func encodePart(view any, raw json.RawMessage) json.RawMessage {
	data, err := beeos.EncodeJSON(view)
	if err != nil {
		return raw
	}
	return data
}

// requiredTexts are the members that the contract wants to be strings.
var requiredTexts = map[string][]string{
	"thinking":    {"text"},
	"tool_use":    {"id", "name"},
	"tool_result": {"tool_use_id"},
	"source":      {"url"},
	"custom":      {"kind"},
}

// hasShape reports whether a part has what the contract wants of its type.
func hasShape(kind string, raw []byte) bool {
	for _, name := range requiredTexts[kind] {
		if _, ok := strictjson.StringField(raw, name); !ok {
			return false
		}
	}
	for name, member := range strictjson.Fields(raw) {
		if name == "state" && !bytes.Equal(member, []byte(`"streaming"`)) && !bytes.Equal(member, []byte(`"done"`)) {
			return false
		}
	}
	switch kind {
	case "tool_result":
		content := strictjson.Field(raw, "content")
		return len(content) > 0 && (content[0] == '"' || content[0] == '{')
	case "custom":
		return strictjson.Field(raw, "data") != nil
	}
	return true
}

// viewLink is a part with an address; false when it has none.
func viewLink(raw []byte) (beeos.FilePart, bool) {
	text := func(name string) string { s, _ := strictjson.StringField(raw, name); return s }
	f := beeos.FilePart{
		Type: beeos.PartFile, URL: cmp.Or(text("url"), text("uri")), Name: cmp.Or(text("name"), text("title")),
		MIMEType: cmp.Or(text("mime_type"), text("mimeType"), unknownMIMEType), FileID: text("file_id"),
	}
	if size := strictjson.Field(raw, "size"); size != nil && json.Unmarshal(size, &f.Size) != nil {
		f.Size = 0
	}
	at, err := url.Parse(f.URL)
	return f, err == nil && at.IsAbs()
}

// viewContent is a picture or a sound, whose bytes are its address.
func viewContent(raw []byte) (beeos.FilePart, bool) {
	data, _ := strictjson.StringField(raw, "data")
	content, err := base64.StdEncoding.DecodeString(data)
	if err != nil || len(content) == 0 {
		return beeos.FilePart{}, false
	}
	kind, _ := strictjson.StringField(raw, "mimeType")
	kind = cmp.Or(kind, unknownMIMEType)
	name, _ := strictjson.StringField(raw, "name")
	return beeos.FilePart{Type: beeos.PartFile, URL: "data:" + kind + ";base64," + data, MIMEType: kind, Name: name, Size: int64(len(content))}, true
}
