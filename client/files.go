package client

import (
	"context"
	"fmt"
	"io"
	"net/http"

	"github.com/beeos/beeos"
)

// Attachment names an uploaded file in a request. The agent is told Filename
// and ContentType when they are set, otherwise those of the upload.
type Attachment struct {
	FileID      string `json:"file_id"`
	Filename    string `json:"filename,omitempty"`
	ContentType string `json:"content_type,omitempty"`
}

// File is a file on the server. DownloadURL is a permission by itself and
// works for an hour.
type File struct {
	FileID      string `json:"file_id"`
	Filename    string `json:"filename"`
	ContentType string `json:"content_type"`
	Size        int64  `json:"size"`
	DownloadURL string `json:"download_url"`
}

// Upload sends a file of that size to the server, which keeps it for a while.
func (c *Client) Upload(ctx context.Context, filename, contentType string, content io.Reader, size int64) (*File, error) {
	in := map[string]string{"filename": filename, "content_type": contentType}
	var link struct {
		UploadURL string `json:"upload_url"`
	}
	if _, err := c.do(ctx, http.MethodPost, "/api/v1/files/presign-upload", in, &link); err != nil {
		return nil, err
	}
	if size == 0 {
		content = http.NoBody // else net/http takes 0 for unknown
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPut, link.UploadURL, content)
	if err != nil {
		return nil, fmt.Errorf("%s sent a link that cannot be used", c.base) // err would repeat it, and it is a permission
	}
	req.ContentLength = size
	req.Header.Set("Content-Type", contentType)
	var f File
	if _, err := c.readAnswer(req, &f); err != nil {
		return nil, err
	}
	return &f, nil
}

// File looks up a file of one's own; it has no size until it is uploaded.
func (c *Client) File(ctx context.Context, id string) (*File, error) {
	return call[File](ctx, c, http.MethodGet, apiPath("files", id), nil)
}

// Download opens a file of one's own for reading.
func (c *Client) Download(ctx context.Context, id string) (*File, io.ReadCloser, error) {
	f, err := c.File(ctx, id)
	if err != nil {
		return nil, nil, err
	}
	if f.DownloadURL == "" {
		return nil, nil, beeos.Errorf(beeos.NotFound, "the file has not been uploaded yet")
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, f.DownloadURL, nil)
	if err != nil {
		return nil, nil, fmt.Errorf("%s sent a link that cannot be used", c.base)
	}
	resp, err := c.sendRequest(req)
	if err != nil {
		return nil, nil, err
	}
	return f, resp.Body, nil
}
