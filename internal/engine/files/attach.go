package files

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/blob"
)

// MaxAttachments is how many files may go along with a call.
const MaxAttachments = 16

// Attachment names a file of the caller's. The other two, when set, are what
// the agent is told instead of what the file was uploaded with.
type Attachment struct {
	FileID      string `json:"file_id"`
	Filename    string `json:"filename,omitempty"`
	ContentType string `json:"content_type,omitempty"`
}

// attached is an attachment as the agent's payload has it. The payload is
// ours; parts may also be the caller's own, with links to anywhere.
type attached struct {
	FileID      string `json:"file_id"`
	Filename    string `json:"filename"`
	ContentType string `json:"content_type"`
	Size        int64  `json:"size"`
	URL         string `json:"url"`
}

// Attach turns the files that a caller names into what an agent can read: parts
// after those given, and a list for its payload. The links in them work, and the
// files are kept, until then, and for a day at least.
func (f *Files) Attach(ctx context.Context, owner string, parts json.RawMessage, given []Attachment, until time.Time) (all, list json.RawMessage, err error) {
	if len(given) == 0 {
		return parts, nil, nil
	}
	files, err := f.resolve(ctx, owner, given, until)
	if err != nil {
		return nil, nil, err
	}
	var each []json.RawMessage
	if len(parts) > 0 {
		if err := json.Unmarshal(parts, &each); err != nil {
			return nil, nil, beeos.Wrap(beeos.InvalidBody, err, "parts must be a list")
		}
	}
	for _, f := range files {
		part, err := json.Marshal(beeos.FilePart{
			Type: beeos.PartFile, URL: f.URL, MIMEType: f.ContentType, Name: f.Filename, Size: f.Size, FileID: f.FileID,
		})
		if err != nil {
			return nil, nil, fmt.Errorf("encode a file part: %w", err)
		}
		each = append(each, part)
	}
	if all, err = json.Marshal(each); err != nil {
		return nil, nil, fmt.Errorf("encode the parts: %w", err)
	}
	if list, err = json.Marshal(files); err != nil {
		return nil, nil, fmt.Errorf("encode the attachments: %w", err)
	}
	return all, list, nil
}

// resolve looks the files up.
func (f *Files) resolve(ctx context.Context, owner string, given []Attachment, until time.Time) ([]attached, error) {
	if len(given) > MaxAttachments {
		return nil, beeos.Errorf(beeos.InvalidParam, "at most %d attachments", MaxAttachments)
	}
	if f == nil {
		return nil, beeos.Errorf(beeos.InvalidParam, "attachments need the REST surface, whose address this server does not know; set OPENAPI_PUBLIC_URL")
	}
	ids := make([]string, len(given))
	for i, a := range given {
		ids[i] = a.FileID
	}
	if least := f.Now().Add(linkLife); until.Before(least) {
		until = least
	}
	known, err := f.Table.Keep(ctx, owner, ids, until)
	if err != nil {
		return nil, err
	}
	files := make([]attached, len(given))
	for i, a := range given {
		file, ok := known[a.FileID]
		if !ok { // one answer, so that nobody learns which files others have
			return nil, beeos.Errorf(beeos.InvalidParam, "attachments: you have no uploaded file %.128q", a.FileID)
		}
		name, kind := cmp.Or(a.Filename, file.Filename), cmp.Or(a.ContentType, file.ContentType)
		if err := checkContentType(kind); err != nil {
			return nil, err
		}
		if utf8.RuneCountInString(name) > maxFilename {
			return nil, beeos.Errorf(beeos.InvalidParam, "attachments: filename must have 1 to %d characters", maxFilename)
		}
		files[i] = attached{a.FileID, blob.SafeName(name), kind, file.Size, f.link(a.FileID, until)}
	}
	return files, nil
}
