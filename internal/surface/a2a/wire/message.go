package wire

import (
	"bytes"
	"cmp"
	"encoding/json"
	"mime"
	"slices"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/files"
	"github.com/beeos/beeos/internal/engine/invoke"
	"github.com/beeos/beeos/internal/wire/strictjson"
)

// What an agent takes and gives that says nothing about it.
var (
	DefaultInput  = []string{"text/plain", "text/*", "application/json", "application/pdf", "image/*", "audio/*", "video/*", "application/octet-stream"}
	DefaultOutput = []string{"text/plain", "application/json"}
)

// InputModes are the media types that an agent takes.
func InputModes(a *beeos.Agent) []string { return modes(a, "inputModes", DefaultInput) }

// OutputModes are the media types that an agent answers with.
func OutputModes(a *beeos.Agent) []string { return modes(a, "outputModes", DefaultOutput) }

func modes(a *beeos.Agent, name string, otherwise []string) []string {
	var own []string
	p, err := ReadParams(a.Definition.Capabilities)
	if err != nil || json.Unmarshal(p.Raw(name), &own) != nil {
		return otherwise
	}
	if own = slices.DeleteFunc(own, func(mode string) bool { return mode == "" }); len(own) == 0 {
		return otherwise
	}
	return own
}

// Message is a message of the client's.
type Message struct {
	ID, TaskID, ContextID string
	Text                  string
	Parts                 []json.RawMessage // files by URL or in place, as agents read them
	Data                  []json.RawMessage // JSON values
	Files                 []files.Attachment
	Metadata              map[string]string
}

// ReadMessage reads a message in any dialect: parts say what they are by a
// member's name (1.0) or by kind (0.3), and are called content in the HTTP+JSON
// of 0.3.
func ReadMessage(params Params, d Dialect, agent *beeos.Agent) (*Message, error) {
	if !params.Has("message") {
		return nil, beeos.Errorf(beeos.MissingParam, "message is required")
	}
	p := params.Object("message")
	m := &Message{ID: p.Text("messageId"), TaskID: p.Text("taskId"), ContextID: p.Text("contextId")}
	role := p.Text("role")
	switch {
	case p.Err() != nil:
		return nil, p.Err()
	case m.ID == "" && d != Legacy:
		return nil, beeos.Errorf(beeos.MissingParam, "message.messageId is required; it must be another one for each message")
	case !slices.Contains([]string{"ROLE_USER", "user", ""}, role) || role == "" && d == V10:
		return nil, beeos.Errorf(beeos.InvalidParam, "message.role must be ROLE_USER (user in 0.3): agents answer, they do not ask here")
	}
	err := invoke.CheckIdempotencyKey(m.ID)
	if err == nil {
		m.Metadata, err = readMetadata(p.Raw("metadata"))
	}
	if err == nil {
		err = m.readParts(p, d, InputModes(agent))
	}
	return m, err
}

// readMetadata keeps strings as they are and everything else as JSON.
func readMetadata(raw []byte) (map[string]string, error) {
	if len(raw) == 0 || raw[0] != '{' {
		return nil, nil
	}
	md := map[string]string{}
	for name, value := range strictjson.Fields(raw) {
		text, ok := strictjson.StringValue(value)
		if !ok {
			text = string(value)
		}
		md[strings.Clone(name)] = text
	}
	return md, invoke.CheckMetadata(md)
}

func (m *Message) readParts(p Params, d Dialect, modes []string) error {
	name := "parts"
	if d == V03HTTP {
		name = "content"
	}
	raw := p.Raw(name)
	if len(raw) == 0 || raw[0] != '[' {
		return beeos.Errorf(beeos.MissingParam, "message.%s must be a list with at least one part", name)
	}
	var texts []string
	for one := range strictjson.Elements(raw) {
		text, err := m.readPart(readObject(one, "each part", p.err), d, modes)
		if err != nil {
			return err
		}
		if text != "" {
			texts = append(texts, text)
		}
	}
	if m.Text = strings.Join(texts, "\n"); strings.TrimSpace(m.Text) == "" && len(m.Parts)+len(m.Data)+len(m.Files) == 0 {
		return beeos.Errorf(beeos.InvalidParam, "message.%s says nothing; add a part with text", name)
	}
	return nil
}

// content is what a part holds, whichever dialect it was written in.
type content struct {
	text, url, raw, name, mode string
	data                       []byte
	has                        int // how many of text, url, raw and data there are
}

func readContent(p Params, d Dialect) content {
	c := content{text: p.Text("text"), url: p.Text("url"), raw: p.Text("raw"), name: p.Text("filename"), mode: p.Text("mediaType"), data: p.Raw("data")}
	if p.Has("file") { // 0.3
		file := p.Object("file")
		c.url = cmp.Or(c.url, file.Text("uri"), file.Text("fileWithUri"))
		c.raw = cmp.Or(c.raw, file.Text("bytes"), file.Text("fileWithBytes"))
		c.name, c.mode = cmp.Or(c.name, file.Text("name")), cmp.Or(c.mode, file.Text("mimeType"))
	}
	if d == V03HTTP && c.data != nil { // wrapped once more
		c.data = p.Object("data").Raw("data")
	}
	for _, there := range []bool{p.Has("text"), c.url != "", c.raw != "", c.data != nil} {
		if there {
			c.has++
		}
	}
	return c
}

// readPart adds a part, or returns its text. A file of the caller's is named
// by metadata.file_id, or by an address that begins with beeos:.
func (m *Message) readPart(p Params, d Dialect, modes []string) (text string, err error) {
	c := readContent(p, d)
	fileID := p.Object("metadata").Text("fileId")
	if id, ours := strings.CutPrefix(c.url, "beeos:"); ours && fileID == "" {
		fileID = id
	}
	switch {
	case p.Err() != nil:
		return "", p.Err()
	case c.has > 1, c.has == 0 && fileID == "":
		return "", beeos.Errorf(beeos.InvalidParam, "each part has exactly one of text, raw, url and data")
	case c.mode != "" && !accepts(modes, c.mode):
		return "", Refuse(contentTypeNotSupported, "this agent does not take %.100s; its card says what it takes", c.mode)
	case fileID != "":
		m.Files = append(m.Files, files.Attachment{FileID: fileID, Filename: c.name, ContentType: c.mode})
		return "", nil
	case c.data != nil:
		m.Data = append(m.Data, bytes.Clone(c.data))
		return "", m.addPart(object{"type": "structured", "data": json.RawMessage(c.data)})
	case c.raw != "":
		c.url = "data:" + cmp.Or(c.mode, "application/octet-stream") + ";base64," + c.raw
		fallthrough
	case c.url != "":
		return "", m.addPart(beeos.FilePart{Type: beeos.PartFile, URL: c.url, MIMEType: c.mode, Name: c.name})
	}
	return c.text, nil
}

func (m *Message) addPart(part any) error {
	raw, err := beeos.EncodeJSON(part)
	if err != nil {
		return beeos.Wrap(beeos.InvalidParam, err, "a part cannot be read")
	}
	m.Parts = append(m.Parts, raw)
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

// InHistory is the message as it is shown again in its task's history.
func (m *Message) InHistory(task a2a.TaskInfo) *a2a.Message {
	msg := &a2a.Message{ID: cmp.Or(m.ID, string(task.TaskID)), Role: a2a.MessageRoleUser, TaskID: task.TaskID, ContextID: task.ContextID}
	if m.Text != "" {
		msg.Parts = append(msg.Parts, a2a.NewTextPart(m.Text))
	}
	for _, raw := range m.Parts {
		if p := partOf(raw); p != nil {
			msg.Parts = append(msg.Parts, p)
		}
	}
	for _, f := range m.Files {
		msg.Parts = append(msg.Parts, &a2a.Part{Content: a2a.URL("beeos:" + f.FileID), Filename: f.Filename, MediaType: f.ContentType})
	}
	return msg
}
