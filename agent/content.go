package agent

import (
	"encoding/json"
	"fmt"

	"github.com/beeos/beeos"
)

// The content of an answer besides its text. Each part is a JSON object with
// a type: text, image, audio, resource and resource_link are MCP's content
// blocks; structured holds a value in data; readers pass types that they do
// not know through.

type part struct {
	Type     string    `json:"type"`
	Text     string    `json:"text,omitempty"`
	Data     any       `json:"data,omitempty"`
	MIMEType string    `json:"mimeType,omitempty"`
	URI      string    `json:"uri,omitempty"`
	Name     string    `json:"name,omitempty"`
	Resource *resource `json:"resource,omitempty"`
}

type resource struct {
	URI      string  `json:"uri"`
	MIMEType string  `json:"mimeType,omitempty"`
	Text     *string `json:"text,omitempty"`
	Blob     []byte  `json:"blob,omitempty"`
}

// Text adds a block of text after the answer's own text.
func (r *Reply) Text(text string) {
	r.addPart(part{Type: "text", Text: text})
	r.mu.Lock()
	defer r.mu.Unlock()
	r.texts += text
}

// Image adds a picture.
func (r *Reply) Image(mimeType string, data []byte) {
	r.addPart(part{Type: "image", Data: data, MIMEType: mimeType})
}

// Audio adds a sound.
func (r *Reply) Audio(mimeType string, data []byte) {
	r.addPart(part{Type: "audio", Data: data, MIMEType: mimeType})
}

// Resource adds a text document, and answers a resources/read.
func (r *Reply) Resource(uri, mimeType, text string) {
	r.addPart(part{Type: "resource", Resource: &resource{URI: uri, MIMEType: mimeType, Text: &text}})
}

// ResourceBlob is Resource for bytes.
func (r *Reply) ResourceBlob(uri, mimeType string, data []byte) {
	r.addPart(part{Type: "resource", Resource: &resource{URI: uri, MIMEType: mimeType, Blob: data}})
}

// ResourceLink adds the address of something that the client can read.
func (r *Reply) ResourceLink(uri, name, mimeType string) {
	r.addPart(part{Type: "resource_link", URI: uri, Name: name, MIMEType: mimeType})
}

// Structured adds a value that fits the tool's OutputSchema.
func (r *Reply) Structured(v any) error {
	raw, err := beeos.EncodeJSON(v)
	if err != nil {
		return fmt.Errorf("structured content: %w", err)
	}
	r.addPart(part{Type: "structured", Data: json.RawMessage(raw)})
	return nil
}

// Part adds a part of any type; v must encode as a JSON object with a type.
// Watching callers see it at once.
func (r *Reply) Part(v any) error {
	raw, err := beeos.EncodeJSON(v)
	if err != nil {
		return fmt.Errorf("part: %w", err)
	}
	if err := r.Content(raw); err != nil {
		return err
	}
	return r.streamFrame(beeos.Frame{Type: beeos.FrameDelta, Part: raw})
}

// Content adds a part that is JSON already, as it is. Unlike Part it comes with
// the answer and not before.
func (r *Reply) Content(raw json.RawMessage) error {
	var head struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(raw, &head); err != nil || head.Type == "" {
		return fmt.Errorf("content: want a JSON object with a type, not %.60s", raw)
	}
	r.addRawPart(raw)
	return nil
}

// Direct says that the answer is a message and no task to come back to: who
// calls over A2A and waits for it gets it as such. Elsewhere it says nothing.
func (r *Reply) Direct() error { return r.setPayload("direct", true) }

// Result answers a method with the whole result object that the caller's
// protocol defines for it; prompts/get and completion/complete need it. With
// tools/call it is for what parts cannot say.
func (r *Reply) Result(v any) error { return r.setPayload("result", v) }

// Meta adds an object that travels as _meta beside the answer.
func (r *Reply) Meta(v any) error { return r.setPayload("_meta", v) }

// Remember keeps a value with the answer, which is not part of what it says:
// History has it, as "memory" in the payload of the reply, for whichever
// instance answers the next message of the conversation. It is no secret.
func (r *Reply) Remember(v any) error { return r.setPayload("memory", v) }

func (r *Reply) setPayload(name string, v any) error {
	raw, err := beeos.EncodeJSON(v)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.payload == nil {
		r.payload = map[string]json.RawMessage{}
	}
	r.payload[name] = raw
	return nil
}

func (r *Reply) addPart(p part) {
	raw, err := beeos.EncodeJSON(p)
	if err == nil { // a part holds strings, bytes and JSON that was checked
		r.addRawPart(raw)
	}
}

func (r *Reply) addRawPart(raw json.RawMessage) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.terminal == nil {
		r.parts = append(r.parts, raw)
	}
}
