package agent_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/agent"
	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/test/apptest"
)

// TestFilesReachTheAgent: what is uploaded over REST arrives, byte for byte,
// with a REST call and with an MCP call.
func TestFilesReachTheAgent(t *testing.T) {
	app := apptest.Start(t, apptest.Config(t))
	type received struct {
		file    agent.Attachment
		content []byte
	}
	connected, got, done := make(chan string, 1), make(chan received, 4), make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { // awaited below
		done <- agent.Run(ctx, agent.Options{
			Name: "reader", Gateway: app.Agents, Key: app.UserKey, Identity: filepath.Join(t.TempDir(), "id.json"),
			Log: slog.New(slog.NewTextHandler(t.Output(), nil)), Connected: func(id string) { connected <- id },
			Tools: []agent.Tool{{Name: "read", Schema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}},"additionalProperties":false}`)}},
		}, func(ctx context.Context, m agent.Message, r *agent.Reply) error {
			for _, a := range m.Attachments {
				content, err := a.Download(ctx)
				if err != nil {
					return err
				}
				got <- received{a, content}
			}
			return r.Send(fmt.Sprintf("%d files", len(m.Attachments)))
		})
	}()
	id := <-connected

	content := make([]byte, 3<<20)
	rand.Read(content) //nolint:errcheck // it never fails
	c := client.New(app.REST, app.UserKey)
	file, err := c.Upload(ctx, "noise.bin", "application/octet-stream", bytes.NewReader(content), int64(len(content)))
	if err != nil {
		t.Fatal(err)
	}
	empty, err := c.Upload(ctx, "empty.txt", "text/plain", strings.NewReader(""), 0)
	if err != nil {
		t.Fatal(err)
	}
	if known, err := c.File(ctx, file.FileID); err != nil || known.Size != int64(len(content)) {
		t.Errorf("the file is known as %+v, %v", known, err)
	}

	answer, err := c.Invoke(ctx, id, client.InvokeRequest{
		Message: "read", Attachments: []client.Attachment{{FileID: file.FileID}, {FileID: empty.FileID, Filename: "nothing.md", ContentType: "text/markdown"}},
	})
	if err != nil || answer.Text != "2 files" {
		t.Fatalf("REST: %+v, %v", answer, err)
	}
	args := json.RawMessage(`{"n":1,"attachments":[{"file_id":"` + file.FileID + `"}]}`)
	result, err := c.CallTool(ctx, &client.Agent{Name: "reader", MCPURL: app.MCP + "/" + id + "/mcp"}, "read", args)
	if err != nil || result.Text() != "1 files" {
		t.Fatalf("MCP: %+v, %v", result, err)
	}
	for _, want := range []agent.Attachment{
		{FileID: file.FileID, Filename: "noise.bin", ContentType: "application/octet-stream", Size: 3 << 20},
		{FileID: empty.FileID, Filename: "nothing.md", ContentType: "text/markdown"},
		{FileID: file.FileID, Filename: "noise.bin", ContentType: "application/octet-stream", Size: 3 << 20},
	} {
		r := <-got
		if !strings.HasPrefix(r.file.URL, app.REST+"/files/"+want.FileID+"?") {
			t.Errorf("link %q", r.file.URL)
		}
		r.file.URL = ""
		if diff := cmp.Diff(want, r.file); diff != "" {
			t.Error(diff)
		}
		if want.Size > 0 && !bytes.Equal(r.content, content) || want.Size == 0 && len(r.content) != 0 {
			t.Errorf("%s arrived with %d bytes, and not as it was sent", want.Filename, len(r.content))
		}
	}
	_, err = c.Invoke(ctx, id, client.InvokeRequest{Message: "read", Attachments: []client.Attachment{{FileID: "file_unknown"}}})
	if beeos.CodeOf(err) != beeos.InvalidParam {
		t.Errorf("an unknown file: %v", err)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestAttachmentOfTheWrongSize: an agent must not take half a file for whole.
func TestAttachmentOfTheWrongSize(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/gone" {
			http.Error(w, "no", http.StatusForbidden)
			return
		}
		io.WriteString(w, "12345") //nolint:errcheck // the reader will tell
	}))
	defer srv.Close()
	for _, tt := range []struct {
		path string
		size int64
		want string
	}{
		{"/", 5, ""},
		{"/", 4, "longer than"},
		{"/", 6, "unexpected EOF"},
		{"/gone", 5, "403 Forbidden"},
	} {
		a := agent.Attachment{Filename: "f", Size: tt.size, URL: srv.URL + tt.path + "?sig=secret"}
		content, err := a.Download(t.Context())
		switch {
		case tt.want == "" && (err != nil || string(content) != "12345"):
			t.Errorf("%+v: %q, %v", a, content, err)
		case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "secret")):
			t.Errorf("%+v: %v, want %s", a, err, tt.want)
		}
	}
	for _, link := range []string{"http://127.0.0.1:1/?sig=secret", "http://[?sig=secret", ""} {
		if _, err := (agent.Attachment{URL: link}).Open(t.Context()); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v", link, err)
		}
	}
}
