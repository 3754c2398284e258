package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"github.com/beeos/beeos"
)

// Attach adds a file to the answer: its bytes go to the server, the caller
// gets a link to them. The file is the caller's from then on, and the caller
// can also look it up by its id. Watching callers see it at once.
func (r *Reply) Attach(ctx context.Context, name, contentType string, content io.Reader) (Attachment, error) {
	if r.ended() {
		return Attachment{}, ErrEnded
	}
	a, err := r.a.gw.upload(ctx, r.m.ID, name, contentType, content)
	if err != nil {
		return Attachment{}, fmt.Errorf("attach %q: %w", name, err)
	}
	err = r.Part(struct {
		Type     string `json:"type"`
		URL      string `json:"url"`
		MIMEType string `json:"mime_type"`
		Name     string `json:"name"`
		Size     int64  `json:"size"`
		FileID   string `json:"file_id"`
	}{"file", a.URL, a.ContentType, a.Filename, a.Size, a.FileID})
	return a, err
}

// upload sends a file for the caller of a message.
func (g *gateway) upload(ctx context.Context, message, name, contentType string, content io.Reader) (Attachment, error) {
	body, err := beeos.EncodeJSON(map[string]string{"message_id": message, "filename": name, "content_type": contentType})
	if err != nil {
		return Attachment{}, err
	}
	var link struct {
		UploadURL   string `json:"upload_url"`
		DownloadURL string `json:"download_url"`
	}
	if err := g.do(ctx, http.MethodPost, "/api/v1/agents/files", body, &link); err != nil {
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
