// Package enclosed reads what comes along with a message besides its text: values,
// and files, as bytes where they are small enough to be passed on so.
package enclosed

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/beeos/beeos/agent"
)

// MaxInline is how large a file may be, in bytes, to go along as it is; larger ones
// go by their address.
const MaxInline = 4 << 20

// Item is a value or a file.
type Item struct {
	Value json.RawMessage // of a value; else empty

	Name  string
	Kind  string // its content type
	Bytes []byte // nil = the file is at URL
	URL   string
	Size  int64 // 0 = not known
	ID    string
}

// Read returns what came along. Files of this server come as bytes: who gets them
// may not reach it. What lies elsewhere has its address.
func Read(ctx context.Context, m agent.Message) ([]Item, error) {
	return ReadParts(ctx, m.Parts, m.Attachments)
}

// ReadParts is Read for what a person said later.
func ReadParts(ctx context.Context, raw json.RawMessage, files []agent.Attachment) (items []Item, err error) {
	var all []struct {
		Type     string          `json:"type"`
		URL      string          `json:"url"`
		Name     string          `json:"name"`
		MIMEType string          `json:"mime_type"`
		FileID   string          `json:"file_id"`
		Data     json.RawMessage `json:"data"`
	}
	_ = json.Unmarshal(raw, &all) // of another shape: then there is nothing that could be passed on
	for _, p := range all {
		switch {
		case p.Type == "structured" && len(p.Data) > 0:
			items = append(items, Item{Value: p.Data})
		case p.Type != "file" || p.FileID != "": // attachments have those
		case strings.HasPrefix(p.URL, "data:"):
			_, text, _ := strings.Cut(p.URL, ";base64,")
			b, err := base64.StdEncoding.DecodeString(text)
			if err != nil {
				return nil, fmt.Errorf("the file %q that came along cannot be read", p.Name)
			}
			items = append(items, Item{Name: p.Name, Kind: p.MIMEType, Bytes: b, Size: int64(len(b))})
		case p.URL != "":
			items = append(items, Item{Name: p.Name, Kind: p.MIMEType, URL: p.URL})
		}
	}
	for _, f := range files {
		it := Item{Name: f.Filename, Kind: f.ContentType, URL: f.URL, Size: f.Size, ID: f.FileID}
		if f.Size <= MaxInline {
			if it.Bytes, err = f.Download(ctx); err != nil {
				return nil, err
			}
		}
		items = append(items, it)
	}
	return items, nil
}
