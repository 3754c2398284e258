package replies

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/surface/mcp/wire"
	"github.com/beeos/beeos/internal/wire/strictjson"
)

// ToolResult turns a terminal reply into the result of tools/call. What the
// agent sent as content blocks goes through byte for byte. Failures of the
// agent are results, for the model to read; only what says nothing about the
// call itself is an error.
func ToolResult(m *beeos.Message) ([]byte, error) {
	switch {
	case m.Type == beeos.AgentBusy:
		return nil, beeos.Errorf(beeos.Conflict, "%s", cmp.Or(m.Body, "the agent is busy: try again later"))
	case m.StopReason == beeos.StopAgentLost:
		return nil, beeos.Errorf(beeos.AgentServiceUnavailable, "%s", cmp.Or(m.Body, "the agent went away in the middle of the call: try again"))
	}
	if result := strictjson.Field(m.Payload, "result"); wire.Kind(strictjson.Field(result, "content")) == '[' {
		return result, nil // what an agent has that passes another server's results on
	}
	c := contentOf(m)
	if c.broken != "" {
		c.add(wire.AppendTextBlock(nil, "The agent's reply is not whole: "+c.broken+" was left out."))
	}
	b := append(make([]byte, 0, 96+len(m.Body)+len(m.Parts)), `{"content":[`...)
	b = append(b, c.blocks...)
	b = append(b, ']')
	if c.structured != nil {
		b = append(append(b, `,"structuredContent":`...), c.structured...)
	}
	if m.IsError() || c.broken != "" {
		b = append(b, `,"isError":true`...)
	}
	if meta := strictjson.Field(m.Payload, "_meta"); wire.Kind(meta) == '{' {
		b = append(append(b, `,"_meta":`...), meta...)
	}
	return append(b, '}'), nil
}

// content is what a reply says, in MCP's terms.
type content struct {
	blocks     []byte // elements of the content array
	structured []byte // an object, or nil
	broken     string // what clients would refuse the whole result for; empty = nothing
}

func contentOf(m *beeos.Message) content {
	var c content
	parts, said := sortParts(m.Parts, &c)
	body := m.Body
	if body == "" && m.IsError() && len(parts) == 0 {
		body = "the agent failed without saying why"
	}
	// Some agents repeat in parts what the text says, others add to it.
	if body != "" && !said[body] {
		c.add(wire.AppendTextBlock(nil, body))
	}
	for _, p := range parts {
		c.add(p)
	}
	// Clients that do not know structured content read it as text.
	if len(c.blocks) == 0 && c.structured != nil {
		c.add(wire.AppendTextBlock(nil, string(c.structured)))
	}
	return c
}

func (c *content) add(block []byte) {
	if len(c.blocks) > 0 {
		c.blocks = append(c.blocks, ',')
	}
	c.blocks = append(c.blocks, block...)
}

// sortParts picks the content blocks out of an agent's parts, and the
// structured value. said holds the texts of text blocks, and all of them
// together. Parts of other types are not for MCP.
func sortParts(raw json.RawMessage, c *content) (blocks [][]byte, said map[string]bool) {
	if len(raw) == 0 {
		return nil, nil
	}
	said = map[string]bool{}
	var all strings.Builder
	for p := range strictjson.Elements(raw) {
		t, _ := strictjson.StringField(p, "type")
		if !wellFormed(t, p) {
			c.broken = "a block of type " + t
			continue
		}
		switch t {
		case "text":
			s, _ := strictjson.StringField(p, "text")
			said[s] = true
			all.WriteString(s)
			blocks = append(blocks, p)
		case "image", "audio", "resource", "resource_link":
			blocks = append(blocks, p)
		case "file":
			if link := fileLink(p); link != nil {
				blocks = append(blocks, link)
			}
		case "structured":
			c.setStructured(strictjson.Field(p, "data"))
		}
	}
	said[all.String()] = true
	return blocks, said
}

// fileLink is a file part as MCP has it: the address of something to read.
func fileLink(part []byte) []byte {
	url, ok := strictjson.StringField(part, "url")
	if !ok || url == "" {
		return nil
	}
	name, _ := strictjson.StringField(part, "name")
	b := wire.AppendText([]byte(`{"type":"resource_link","uri":`), url)
	b = wire.AppendText(append(b, `,"name":`...), cmp.Or(name, "file"))
	if mime, ok := strictjson.StringField(part, "mime_type"); ok {
		b = wire.AppendText(append(b, `,"mimeType":`...), mime)
	}
	if size := strictjson.Field(part, "size"); wire.Kind(size) == '0' {
		b = append(append(b, `,"size":`...), size...)
	}
	if id := strictjson.Field(part, "file_id"); wire.Kind(id) == '"' {
		b = append(append(append(b, `,"_meta":{"file_id":`...), id...), '}')
	}
	return append(b, '}')
}

// setStructured: clients take objects only; anything else is shown as text.
func (c *content) setStructured(value []byte) {
	switch wire.Kind(value) {
	case 0:
	case '{':
		c.structured = value
	default:
		c.add(wire.AppendTextBlock(nil, string(value)))
	}
}
