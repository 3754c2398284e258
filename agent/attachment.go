package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/beeos/beeos"
)

// Attachment is a file that the caller sent along. Its name is for people: it
// is one line without folders, but nothing else is sure about it.
type Attachment struct {
	FileID      string `json:"file_id"`
	Filename    string `json:"filename"`
	ContentType string `json:"content_type"`
	Size        int64  `json:"size"`
	URL         string `json:"url"` // lets whoever has it download the file; valid until the message's Deadline at least
}

// Open downloads the file as it is read; the reader fails when the file does
// not have the size that it should. ctx ends the download.
func (a Attachment) Open(ctx context.Context) (io.ReadCloser, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, a.URL, nil)
	if err != nil {
		return nil, fmt.Errorf("download %q: the gateway sent no usable link: %w", a.Filename, withoutURL(err))
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, fmt.Errorf("download %q: %w", a.Filename, withoutURL(err))
	}
	if resp.StatusCode != http.StatusOK {
		resp.Body.Close()
		return nil, fmt.Errorf("download %q: the server answered %s", a.Filename, resp.Status)
	}
	return &download{resp.Body, a.Size}, nil
}

// Download returns the whole file. Look at Size first: Open needs less memory.
func (a Attachment) Download(ctx context.Context) ([]byte, error) {
	r, err := a.Open(ctx)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	content, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("download %q: %w", a.Filename, err)
	}
	return content, nil
}

// withoutURL keeps the link, which is a permission, out of errors and logs.
func withoutURL(err error) error {
	if ue, ok := errors.AsType[*url.Error](err); ok {
		return ue.Err
	}
	return err
}

// download is a file on its way; left is what is still to come.
type download struct {
	io.ReadCloser
	left int64
}

func (d *download) Read(p []byte) (int, error) {
	n, err := d.ReadCloser.Read(p)
	d.left -= int64(n)
	switch {
	case d.left < 0:
		return n, errors.New("the file is longer than the message says")
	case errors.Is(err, io.EOF) && d.left > 0:
		return n, io.ErrUnexpectedEOF
	}
	return n, err
}

// Attach adds a file to the answer: its bytes go to the server, the caller
// gets a link to them. The file is the caller's from then on, and the caller
// can also look it up by its id. Watching callers see it at once.
func (r *Reply) Attach(ctx context.Context, name, contentType string, content io.Reader) (Attachment, error) {
	if r.hasEnded() {
		return Attachment{}, ErrEnded
	}
	a, err := r.a.gw.uploadFile(ctx, r.m.ID, name, contentType, content)
	if err != nil {
		return Attachment{}, fmt.Errorf("attach %q: %w", name, err)
	}
	return a, r.Part(beeos.FilePart{
		Type: beeos.PartFile, URL: a.URL, MIMEType: a.ContentType, Name: a.Filename, Size: a.Size, FileID: a.FileID,
	})
}

// uploadFile sends a file for the caller of a message.
func (g *gateway) uploadFile(ctx context.Context, message, name, contentType string, content io.Reader) (Attachment, error) {
	body, err := beeos.EncodeJSON(map[string]string{"message_id": message, "filename": name, "content_type": contentType})
	if err != nil {
		return Attachment{}, err
	}
	var link struct {
		UploadURL   string `json:"upload_url"`
		DownloadURL string `json:"download_url"`
	}
	if err := g.sendSigned(ctx, http.MethodPost, "/api/v1/agents/files", body, &link); err != nil {
		return Attachment{}, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPut, link.UploadURL, content)
	if err != nil {
		return Attachment{}, fmt.Errorf("the gateway sent no usable link: %w", withoutURL(err))
	}
	req.Header.Set("Content-Type", contentType)
	resp, err := g.http.Do(req)
	if err != nil {
		return Attachment{}, withoutURL(err)
	}
	if resp.StatusCode >= 400 {
		return Attachment{}, readError(resp)
	}
	defer resp.Body.Close()
	var stored struct {
		Data Attachment `json:"data"`
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxAnswer)).Decode(&stored); err != nil || stored.Data.FileID == "" {
		return Attachment{}, beeos.Errorf(beeos.InternalError, "the server does not say that it has the file: %v", err)
	}
	stored.Data.URL = link.DownloadURL
	return stored.Data, nil
}
