package acp

import (
	"context"
	"mime"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/beeos/beeos/agent"
	"github.com/beeos/beeos/internal/outward/bridge/enclosed"
)

// readPrompt reads what came with a message. What becomes of it depends on what
// the program can take.
func readPrompt(ctx context.Context, m agent.Message) (func(*about) []content, error) {
	items, err := enclosed.Read(ctx, m)
	if err != nil {
		return nil, err
	}
	return func(a *about) []content {
		var blocks []content
		if m.Text != "" || len(items) == 0 {
			blocks = append(blocks, content{Type: "text", Text: m.Text})
		}
		for _, it := range items {
			blocks = append(blocks, a.block(it))
		}
		return blocks
	}, nil
}

// block is a value or a file as the program can take it. Every program takes text
// and addresses.
func (a *about) block(it enclosed.Item) content {
	if len(it.Value) > 0 {
		return content{Type: "text", Text: string(it.Value)}
	}
	kind, _, err := mime.ParseMediaType(it.Kind)
	if err != nil {
		kind = "application/octet-stream"
	}
	can := a.Can.Prompt
	switch {
	case it.Bytes == nil:
	case can.Image && strings.HasPrefix(kind, "image/"):
		return content{Type: "image", Data: it.Bytes, MIMEType: kind}
	case can.Audio && strings.HasPrefix(kind, "audio/"):
		return content{Type: "audio", Data: it.Bytes, MIMEType: kind}
	case can.Embedded:
		doc := &contentResource{URI: "attachment:" + url.PathEscape(it.Name), MIMEType: kind}
		if utf8.Valid(it.Bytes) && !strings.ContainsRune(string(it.Bytes), 0) {
			text := string(it.Bytes)
			doc.Text = &text
		} else {
			doc.Blob = it.Bytes
		}
		return content{Type: "resource", Resource: doc}
	case it.URL == "" && utf8.Valid(it.Bytes): // it came within the message
		return content{Type: "text", Text: "[attached file " + it.Name + ":]\n" + string(it.Bytes)}
	}
	if it.URL == "" {
		return content{Type: "text", Text: "[attached file " + it.Name + ": you cannot see it, since you take no " + kind + "]"}
	}
	return content{Type: "resource_link", URI: it.URL, Name: it.Name, MIMEType: kind, Size: it.Size}
}
