package a2a

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"mime"
	"slices"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/files"
	"github.com/beeos/beeos/internal/engine/invoke"
	"github.com/beeos/beeos/internal/wire/httpd"
)

// incoming is a message of the client's.
type incoming struct {
	id, task, context string
	text              string
	parts             []json.RawMessage // files by URL or in place, as agents read them
	data              []json.RawMessage // JSON values
	files             []files.Attachment
	metadata          map[string]string
}

// readMessage reads a message in any dialect: parts say what they are by a
// member's name (1.0) or by kind (0.3).
func (x *exchange) readMessage() (*incoming, error) {
	if !x.params.has("message") {
		return nil, beeos.Errorf(beeos.MissingParam, "message is required")
	}
	p, err := x.params.object("message")
	if err != nil {
		return nil, err
	}
	m := &incoming{}
	var role string
	err = p.texts(map[string]*string{"messageId": &m.id, "taskId": &m.task, "contextId": &m.context, "role": &role})
	if err != nil {
		return nil, err
	}
	switch {
	case m.id == "" && x.dialect != legacy:
		return nil, beeos.Errorf(beeos.MissingParam, "message.messageId is required; it must be another one for each message")
	case !slices.Contains([]string{"ROLE_USER", "user", ""}, role) || role == "" && x.dialect == v10:
		return nil, beeos.Errorf(beeos.InvalidParam, "message.role must be ROLE_USER (user in 0.3): agents answer, they do not ask here")
	}
	if err := invoke.CheckIdempotencyKey(m.id); err != nil {
		return nil, err
	}
	if m.metadata, err = readMetadata(p["metadata"]); err != nil {
		return nil, err
	}
	if err := m.readParts(p["parts"], x.agent); err != nil {
		return nil, err
	}
	return m, nil
}

// readMetadata keeps strings as they are and everything else as JSON.
func readMetadata(raw []byte) (map[string]string, error) {
	if len(raw) == 0 || raw[0] != '{' {
		return nil, nil
	}
	md := map[string]string{}
	for name, value := range httpd.Fields(raw) {
		text, ok := httpd.StringValue(value)
		if !ok {
			text = string(value)
		}
		md[strings.Clone(name)] = text
	}
	return md, invoke.CheckMetadata(md)
}

func (m *incoming) readParts(raw []byte, agent *beeos.Agent) error {
	if len(raw) == 0 || raw[0] != '[' {
		return beeos.Errorf(beeos.MissingParam, "message.parts must be a list with at least one part")
	}
	var texts []string
	modes := inputModes(agent)
	n := 0
	for one := range httpd.Elements(raw) {
		n++
		p, err := readParams(one)
		if err == nil {
			var text string
			if text, err = m.readPart(p, modes); text != "" {
				texts = append(texts, text)
			}
		}
		if err != nil {
			return err
		}
	}
	if m.text = strings.Join(texts, "\n"); n == 0 || strings.TrimSpace(m.text) == "" && len(m.parts)+len(m.data)+len(m.files) == 0 {
		return beeos.Errorf(beeos.InvalidParam, "message.parts says nothing; add a part with text")
	}
	return nil
}

// content is what a part holds, whichever dialect it was written in.
type content struct {
	url, raw, name, mode string
	text                 string
	data                 []byte
	has                  int
}

func readContent(p params) (c content, err error) {
	file := p
	if p.has("file") { // 0.3
		if file, err = p.object("file"); err != nil {
			return c, err
		}
	}
	for name, to := range map[string]*string{"text": &c.text, "url": &c.url, "raw": &c.raw, "filename": &c.name, "mediaType": &c.mode} {
		if *to, err = p.text(name); err != nil {
			return c, err
		}
	}
	for name, to := range map[string]*string{"uri": &c.url, "fileWithUri": &c.url, "bytes": &c.raw, "fileWithBytes": &c.raw, "name": &c.name, "mimeType": &c.mode} {
		if *to == "" && p.has("file") {
			if *to, err = file.text(name); err != nil {
				return c, err
			}
		}
	}
	if p.has("data") {
		c.data = p["data"]
	}
	for _, there := range []bool{p.has("text"), c.url != "", c.raw != "", c.data != nil} {
		if there {
			c.has++
		}
	}
	return c, nil
}

// readPart adds a part, or returns its text. A file of the caller's is named
// by metadata.file_id, or by an address that begins with beeos:.
func (m *incoming) readPart(p params, modes []string) (text string, err error) {
	if len(p) == 1 && p.has("text") { // what nearly all are
		return p.text("text")
	}
	c, err := readContent(p)
	if err != nil {
		return "", err
	}
	meta, err := p.object("metadata")
	if err != nil {
		return "", err
	}
	fileID, err := meta.text("fileId")
	if err != nil {
		return "", err
	}
	if id, ours := strings.CutPrefix(c.url, "beeos:"); ours && fileID == "" {
		fileID = id
	}
	switch {
	case c.has > 1, c.has == 0 && fileID == "":
		return "", beeos.Errorf(beeos.InvalidParam, "each part has exactly one of text, raw, url and data")
	case c.mode != "" && !accepts(modes, c.mode):
		return "", refuse(contentType, "this agent does not take %.100s; its card says what it takes", c.mode)
	case fileID != "":
		m.files = append(m.files, files.Attachment{FileID: fileID, Filename: c.name, ContentType: c.mode})
		return "", nil
	case c.data != nil:
		m.data = append(m.data, bytes.Clone(c.data))
		return "", m.addPart(map[string]any{"type": "structured", "data": json.RawMessage(c.data)})
	case c.raw != "":
		c.url = "data:" + orElse(c.mode, "application/octet-stream") + ";base64," + c.raw
		fallthrough
	case c.url != "":
		return "", m.addPart(map[string]any{"type": "file", "url": c.url, "mime_type": c.mode, "name": c.name})
	}
	return c.text, nil
}

func (m *incoming) addPart(v any) error {
	raw, err := beeos.EncodeJSON(v)
	if err != nil {
		return beeos.Wrap(beeos.InvalidParam, err, "a part cannot be read")
	}
	m.parts = append(m.parts, raw)
	return nil
}

// accepts reports whether a media type is among those that an agent takes;
// image/* stands for all pictures.
func accepts(modes []string, given string) bool {
	kind, _, err := mime.ParseMediaType(given)
	if err != nil {
		return false
	}
	family, _, _ := strings.Cut(kind, "/")
	return slices.Contains(modes, kind) || slices.Contains(modes, family+"/*") || slices.Contains(modes, "*/*")
}

// request is the message as the call path takes it.
func (x *exchange) request(m *incoming) (invoke.Request, error) {
	req := invoke.Request{
		Caller: x.caller, Agent: x.agent, Surface: "a2a", Kind: beeos.KindA2A, Body: m.text, Attachments: m.files,
		ContextID: m.context, KeepOpen: true, IdempotencyKey: cmp.Or(x.r.Header.Get("Idempotency-Key"), m.id), Join: true,
		Deadline: x.g.opt.Now().Add(taskLife), Call: beeos.Call{Metadata: map[string]string{}},
	}
	maps.Copy(req.Call.Metadata, m.metadata)
	for name, value := range map[string]string{invoke.MetaA2AMessage: m.id, invoke.MetaA2AAgent: x.r.Header.Get("X-A2A-Agent-ID")} {
		if value != "" {
			req.Call.Metadata[name] = fmt.Sprintf("%.256s", value)
		}
	}
	var err error
	if req.Chain, err = x.chain(); err != nil {
		return req, err
	}
	if len(m.parts) > 0 {
		if req.Parts, err = beeos.EncodeJSON(m.parts); err != nil {
			return req, err
		}
	}
	if m.context != "" && req.ChannelID() != m.context {
		req.Call.Metadata[invoke.MetaA2AContext] = m.context
	}
	return req, nil
}

// chain takes over which agents led to the message, as a peer says. Who lies
// about it can do nothing but be refused.
func (x *exchange) chain() ([]string, error) {
	text := x.r.Header.Get("X-A2A-Call-Chain")
	if text == "" {
		return nil, nil
	}
	chain := strings.Split(text, ",")
	for i, id := range chain {
		if chain[i] = strings.TrimSpace(id); len(chain[i]) > 128 {
			return nil, beeos.Errorf(beeos.InvalidParam, "X-A2A-Call-Chain is a list of agents' ids, with commas between them")
		}
	}
	return chain, nil
}

// said is the client's message as it is shown again in a task's history.
func said(m *incoming, turn, context string) *a2a.Message {
	msg := &a2a.Message{ID: orElse(m.id, turn), Role: a2a.MessageRoleUser, TaskID: a2a.TaskID(turn), ContextID: context}
	if m.text != "" {
		msg.Parts = append(msg.Parts, a2a.NewTextPart(m.text))
	}
	for _, raw := range m.parts {
		if p := partOf(raw); p != nil {
			msg.Parts = append(msg.Parts, p)
		}
	}
	for _, f := range m.files {
		msg.Parts = append(msg.Parts, &a2a.Part{Content: a2a.URL("beeos:" + f.FileID), Filename: f.Filename, MediaType: f.ContentType})
	}
	return msg
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}
