package invoke

import (
	"context"
	"crypto/sha256"
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

// filePart is the same as the contract's PartFile, with the id added.
type filePart struct {
	Type     string `json:"type"`
	URL      string `json:"url"`
	MIMEType string `json:"mime_type"`
	Name     string `json:"name"`
	Size     int64  `json:"size"`
	FileID   string `json:"file_id"`
}

// attach turns the files that a request names into what its agent can read.
func (c *Calls) attach(ctx context.Context, r *Request) error {
	if len(r.Attachments) == 0 {
		return nil
	}
	if r.IdempotencyKey != "" { // of what was asked: the links differ each time
		if err := addToFingerprint(r); err != nil {
			return err
		}
	}
	files, err := c.resolve(ctx, r)
	if err != nil {
		return err
	}
	var parts []json.RawMessage
	if len(r.Parts) > 0 {
		if err := json.Unmarshal(r.Parts, &parts); err != nil {
			return beeos.Wrap(beeos.InvalidBody, err, "parts must be a list")
		}
	}
	for _, f := range files {
		part, err := json.Marshal(filePart{"file", f.URL, f.ContentType, f.Filename, f.Size, f.FileID})
		if err != nil {
			return fmt.Errorf("encode a file part: %w", err)
		}
		parts = append(parts, part)
	}
	if r.Parts, err = json.Marshal(parts); err != nil {
		return fmt.Errorf("encode the parts: %w", err)
	}
	if r.Call.Attachments, err = json.Marshal(files); err != nil {
		return fmt.Errorf("encode the attachments: %w", err)
	}
	r.Attachments = nil // a request may be made again, and has them now
	return nil
}

// AttachTo adds files of a caller's to what they say to a turn that paused: as
// parts, and as a list for its payload.
func (c *Calls) AttachTo(ctx context.Context, caller beeos.Caller, m *beeos.Message, files []Attachment) (list json.RawMessage, err error) {
	r := Request{Caller: caller, Parts: m.Parts, Attachments: files}
	if err := c.attach(ctx, &r); err != nil {
		return nil, err
	}
	m.Parts = r.Parts
	return r.Call.Attachments, nil
}

// resolve looks the files up. They are kept, and the links work, for as long
// as the request may be handed out, and a while longer.
func (c *Calls) resolve(ctx context.Context, r *Request) ([]attached, error) {
	if len(r.Attachments) > MaxAttachments {
		return nil, beeos.Errorf(beeos.InvalidParam, "at most %d attachments", MaxAttachments)
	}
	if c.opt.Files == nil {
		return nil, beeos.Errorf(beeos.InvalidParam, "attachments need the REST surface, whose address this server does not know; set OPENAPI_PUBLIC_URL")
	}
	ids := make([]string, len(r.Attachments))
	for i, a := range r.Attachments {
		ids[i] = a.FileID
	}
	until := latest(c.deadline(r), c.opt.Now().Add(linkLife))
	known, err := c.opt.Files.DB.KeptFiles(ctx, r.Caller.Principal(), ids, until)
	if err != nil {
		return nil, err
	}
	files := make([]attached, len(r.Attachments))
	for i, a := range r.Attachments {
		f, ok := known[a.FileID]
		if !ok { // one answer, so that nobody learns which files others have
			return nil, beeos.Errorf(beeos.InvalidParam, "attachments: you have no uploaded file %.128q", a.FileID)
		}
		name, kind := f.Filename, f.ContentType
		if a.Filename != "" {
			name = a.Filename
		}
		if a.ContentType != "" {
			kind = a.ContentType
		}
		if err := checkContentType(kind); err != nil {
			return nil, err
		}
		if utf8.RuneCountInString(name) > maxFilename {
			return nil, beeos.Errorf(beeos.InvalidParam, "attachments: filename must have 1 to %d characters", maxFilename)
		}
		files[i] = attached{a.FileID, blob.SafeName(name), kind, f.Size, c.opt.Files.link(a.FileID, until)}
	}
	return files, nil
}

// addToFingerprint makes the files count when a repeated call is compared with
// the first.
func addToFingerprint(r *Request) error {
	if r.Fingerprint == nil {
		payload, err := json.Marshal(&r.Call)
		if err != nil {
			return beeos.Wrap(beeos.InvalidBody, err, "the request's payload cannot be encoded")
		}
		r.Fingerprint = fingerprint(r, payload)
	}
	files, err := json.Marshal(r.Attachments)
	if err != nil {
		return fmt.Errorf("encode the attachments: %w", err)
	}
	sum := sha256.Sum256(append(r.Fingerprint[:len(r.Fingerprint):len(r.Fingerprint)], files...))
	r.Fingerprint = sum[:]
	return nil
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
