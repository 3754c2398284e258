package app_test

import (
	"bytes"
	"crypto/rand"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/internal/config"
	"github.com/beeos/beeos/test/apptest"
)

// newBucket is a place for files outside of the server.
func newBucket(t *testing.T) config.S3 {
	t.Helper()
	backend := s3mem.New()
	if err := backend.CreateBucket("files"); err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(gofakes3.New(backend).Server())
	t.Cleanup(srv.Close)
	return config.S3{Endpoint: srv.URL + "/files", AccessKey: "key", SecretKey: "secret"}
}

// TestFilesInABucket: bytes go through the server into the bucket and back, and
// nothing of them lies in the data folder.
func TestFilesInABucket(t *testing.T) {
	cfg := apptest.Config(t)
	cfg.S3 = newBucket(t)
	app := apptest.Start(t, cfg)
	cl := client.New(app.REST, app.UserKey)
	content := make([]byte, 300_000)
	rand.Read(content) //nolint:errcheck // it never fails
	f, err := cl.Upload(t.Context(), "a.bin", "application/octet-stream", bytes.NewReader(content), int64(len(content)))
	if err != nil {
		t.Fatal(err)
	}
	_, body, err := cl.Download(t.Context(), f.FileID)
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(body)
	body.Close()
	if err != nil || !bytes.Equal(got, content) {
		t.Errorf("%d of %d bytes came back, %v", len(got), len(content), err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, f.DownloadURL, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Range", "bytes=1000-1009")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if part, err := io.ReadAll(resp.Body); err != nil || resp.StatusCode != http.StatusPartialContent || !bytes.Equal(part, content[1000:1010]) {
		t.Errorf("a range: %s, %d bytes, %v", resp.Status, len(part), err)
	}
	if !strings.HasPrefix(f.DownloadURL, app.REST) {
		t.Errorf("the link leads elsewhere: %s", f.DownloadURL)
	}
	if list, err := os.ReadDir(filepath.Join(cfg.Data, "files")); err == nil {
		t.Errorf("there is a folder with %d files", len(list))
	}
}
