package agent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
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
	var b bytes.Buffer
	if _, err := b.ReadFrom(r); err != nil {
		return nil, fmt.Errorf("download %q: %w", a.Filename, err)
	}
	return b.Bytes(), nil
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
