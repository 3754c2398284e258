package llm

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/agent"
)

// What of the files of a conversation the model is given. Services take pictures
// of 5 MiB in base64, and a request is held in memory while it is asked.
const (
	maxTextFile   = 64 << 10
	maxAllText    = 256 << 10
	maxPicture    = 3840 << 10
	maxDocument   = 8 << 20
	maxAllContent = 10 << 20
)

// pdf is the type of documents that services read themselves.
const pdf = "application/pdf"

var pictures = []string{"image/png", "image/jpeg", "image/gif", "image/webp"}

// File is a picture or a document in a message, whole. Services get its bytes, and
// never a link to it.
type File struct {
	Name string
	Type string // one of pictures, or pdf
	Data []byte
}

func (f File) isPicture() bool { return f.Type != pdf }

// AttachmentReader puts the attachments of one conversation before a model, as
// far as there is room: texts as text, pictures and PDF as files. What the model
// is not given, it is told about.
type AttachmentReader struct{ text, content int64 }

// NewAttachmentReader returns a reader with all its room.
func NewAttachmentReader() *AttachmentReader {
	return &AttachmentReader{text: maxAllText, content: maxAllContent}
}

// Add puts attachments into the message that they came with.
func (r *AttachmentReader) Add(ctx context.Context, m *Message, list []agent.Attachment) {
	var b strings.Builder
	b.WriteString(m.Text)
	for _, a := range list {
		if b.Len() > 0 {
			b.WriteString("\n\n")
		}
		b.WriteString(r.addOne(ctx, m, a))
	}
	m.Text = b.String()
}

// PastAttachments returns what came with a message of a conversation. It stands in
// the payload, which is the server's; parts may have links of the caller's own.
func PastAttachments(past beeos.Message) (list []agent.Attachment) {
	var call beeos.Call
	if past.Type == beeos.ChatMessage && len(past.Payload) > 0 && json.Unmarshal(past.Payload, &call) == nil && len(call.Attachments) > 0 {
		_ = json.Unmarshal(call.Attachments, &list) // else there is none that can be read
	}
	return list
}

// addOne adds one attachment and returns what the message's text says about it.
func (r *AttachmentReader) addOne(ctx context.Context, m *Message, a agent.Attachment) string {
	title := fmt.Sprintf("attached file %q (%s, %d bytes)", beeos.Shorten(a.Filename, 200), beeos.Shorten(a.ContentType, 100), a.Size)
	notGiven := func(why string) string { return fmt.Sprintf("[%s: you cannot see it, %s]", title, why) }
	kind, _, err := mime.ParseMediaType(a.ContentType)
	if err != nil {
		kind = "application/octet-stream"
	}
	switch {
	case kind == pdf || strings.HasPrefix(kind, "image/"):
		f, why := r.readFile(ctx, a, kind)
		if why != "" {
			return notGiven(why)
		}
		m.Files = append(m.Files, f)
		return "[" + title + "]"
	case !mayBeText(kind):
		return notGiven("only texts, pictures and PDF can be shown")
	}
	text, cut, why := r.readText(ctx, a)
	if why != "" {
		return notGiven(why)
	}
	end := "end of the file"
	if cut {
		end = fmt.Sprintf("cut here: the file has %d bytes, and these are the first %d", a.Size, len(text))
	}
	return fmt.Sprintf("[%s:]\n%s\n[%s]", title, text, end)
}

const (
	noRoom     = "since there is no room for it beside the other files"
	unreadable = "since it could not be read; it may be gone"
)

// readFile reads a picture or a document; why says what stands against it.
func (r *AttachmentReader) readFile(ctx context.Context, a agent.Attachment, kind string) (f File, why string) {
	most := int64(maxPicture)
	if kind == pdf {
		most = maxDocument
	}
	switch {
	case a.Size > most:
		return f, fmt.Sprintf("since it is larger than %d KiB", most>>10)
	case a.Size > r.content:
		return f, noRoom
	}
	data, err := readAtMost(ctx, a, most)
	if err != nil || int64(len(data)) > most {
		return f, unreadable
	}
	is, _, _ := strings.Cut(http.DetectContentType(data), ";") // services refuse what is not what it is said to be
	if readable := kind == pdf && is == pdf || kind != pdf && slices.Contains(pictures, is); !readable {
		return f, "since it is no PDF and no picture of a kind that you can read (PNG, JPEG, GIF, WebP)"
	}
	r.content -= int64(len(data))
	return File{Name: a.Filename, Type: is, Data: data}, ""
}

// readText reads the beginning of a text.
func (r *AttachmentReader) readText(ctx context.Context, a agent.Attachment) (text string, cut bool, why string) {
	most := min(maxTextFile, r.text)
	if most <= 0 {
		return "", false, noRoom
	}
	data, err := readAtMost(ctx, a, most)
	if err != nil {
		return "", false, unreadable
	}
	if cut = int64(len(data)) > most; cut {
		data = data[:most]
		for n := 0; n < utf8.UTFMax && !utf8.Valid(data); n++ { // the cut may go through a character
			data = data[:len(data)-1]
		}
	}
	if !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0 {
		return "", false, "since it is not a text in UTF-8"
	}
	r.text -= int64(len(data))
	return string(data), cut, ""
}

// readAtMost reads a file, and one byte more than most of a longer one.
func readAtMost(ctx context.Context, a agent.Attachment, most int64) ([]byte, error) {
	body, err := a.Open(ctx)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	return io.ReadAll(io.LimitReader(body, most+1))
}

// mayBeText reports whether a file of that type is worth reading as a text.
func mayBeText(kind string) bool {
	if strings.HasPrefix(kind, "text/") || strings.HasSuffix(kind, "+json") || strings.HasSuffix(kind, "+xml") || strings.HasSuffix(kind, "+yaml") {
		return true
	}
	switch strings.TrimPrefix(kind, "application/") {
	case "json", "xml", "yaml", "x-yaml", "toml", "javascript", "x-javascript", "typescript", "sql", "x-sh", "x-ndjson", "csv", "octet-stream":
		return true
	}
	return false
}

// HasFiles reports whether there is a picture or a document in the messages.
func HasFiles(messages []Message) bool {
	return slices.ContainsFunc(messages, func(m Message) bool { return len(m.Files) > 0 })
}

// WithoutFiles returns the messages without their pictures and documents, for a
// model that takes none, which is told.
func WithoutFiles(messages []Message) []Message {
	messages = slices.Clone(messages)
	for i, m := range messages {
		if len(m.Files) > 0 {
			messages[i].Files = nil
			messages[i].Text += "\n\n[You cannot see the pictures and documents that are attached here: your service takes none.]"
		}
	}
	return messages
}
