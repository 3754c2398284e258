package wire

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/wire/strictjson"
)

// The text of a reply is one artifact, whose pieces are its deltas; what comes
// besides is one artifact each.
const textArtifact = "text"

// artifactsOf is a reply as artifacts.
func artifactsOf(m *beeos.Message) []*a2a.Artifact {
	var all []*a2a.Artifact
	if m.Body != "" {
		all = append(all, &a2a.Artifact{ID: textArtifact, Parts: a2a.ContentParts{a2a.NewTextPart(m.Body)}})
	}
	return append(all, partArtifacts(m)...)
}

func partArtifacts(m *beeos.Message) (all []*a2a.Artifact) {
	for i, p := range partsOf(m) {
		all = append(all, &a2a.Artifact{ID: a2a.ArtifactID(fmt.Sprintf("part-%d", i+1)), Name: p.Filename, Parts: a2a.ContentParts{p}})
	}
	return all
}

// partsOf are the parts of a message besides its text. Text parts that the
// body repeats, for readers of nothing else, are left out.
func partsOf(m *beeos.Message) (parts a2a.ContentParts) {
	var texts strings.Builder
	for raw := range strictjson.Elements(m.Parts) {
		if textField(raw, "type") == "text" {
			texts.WriteString(textField(raw, "text"))
		}
	}
	repeated := texts.String() == m.Body
	for raw := range strictjson.Elements(m.Parts) {
		p := partOf(raw)
		if p == nil || repeated && p.Text() != "" {
			continue
		}
		parts = append(parts, p)
	}
	return parts
}

// partOf translates one part of ours; nil for what is not part of an answer.
func partOf(raw []byte) *a2a.Part {
	field := func(name string) string { return textField(raw, name) }
	p := &a2a.Part{Filename: cmp.Or(field("name"), field("title")), MediaType: cmp.Or(field("mimeType"), field("mime_type"))}
	switch field("type") {
	case "thinking", "tool_use", "tool_result":
		return nil
	case "text":
		p.Content = a2a.Text(field("text"))
	case "image", "audio":
		p.Content = bytesOf(field("data"))
	case "structured":
		p.Content, p.MediaType = a2a.Data{Value: json.RawMessage(strictjson.Field(raw, "data"))}, "application/json"
	case "file", "resource_link":
		p.Content = locationOf(cmp.Or(field("url"), field("uri")))
		if id := field("file_id"); id != "" {
			p.Metadata = map[string]any{"file_id": id}
		}
	case "resource":
		return resourceOf(strictjson.Field(raw, "resource"))
	default:
		p.Content, p.MediaType = a2a.Data{Value: json.RawMessage(raw)}, "application/json"
	}
	if p.Content == nil {
		return nil
	}
	return p
}

func textField(raw []byte, name string) string {
	s, _ := strictjson.StringField(raw, name)
	return s
}

// resourceOf is a document that the agent sent along.
func resourceOf(raw []byte) *a2a.Part {
	uri := textField(raw, "uri")
	p := &a2a.Part{Filename: uri[strings.LastIndex(uri, "/")+1:], MediaType: textField(raw, "mimeType")}
	if text, ok := strictjson.StringField(raw, "text"); ok {
		p.Content = a2a.Text(text)
		return p
	}
	if p.Content = bytesOf(textField(raw, "blob")); p.Content == nil {
		return nil
	}
	return p
}

func bytesOf(text string) a2a.PartContent {
	b, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(b) == 0 {
		return nil
	}
	return a2a.Raw(b)
}

// locationOf is an address, or the bytes when the address holds them.
func locationOf(url string) a2a.PartContent {
	if _, data, ok := strings.Cut(url, ";base64,"); ok && strings.HasPrefix(url, "data:") {
		return bytesOf(data)
	}
	if url == "" {
		return nil
	}
	return a2a.URL(url)
}

// IsDirect reports whether the agent wants its reply to be a message that
// belongs to no task.
func IsDirect(m *beeos.Message) bool {
	return m.Type == beeos.AgentReply && string(strictjson.Field(m.Payload, "direct")) == "true"
}

// DirectReply is an answer that is a message and no task.
func DirectReply(m *beeos.Message, context string) a2a.StreamResponse {
	msg := messageOf(m, context)
	msg.TaskID = ""
	return a2a.StreamResponse{Event: msg}
}

// messageOf is a message of the agent's.
func messageOf(m *beeos.Message, context string) *a2a.Message {
	msg := &a2a.Message{ID: m.ID, Role: a2a.MessageRoleAgent, TaskID: a2a.TaskID(m.InReplyTo), ContextID: context, Parts: partsOf(m)}
	if m.Body != "" || len(msg.Parts) == 0 {
		msg.Parts = append(a2a.ContentParts{a2a.NewTextPart(m.Body)}, msg.Parts...)
	}
	return msg
}
