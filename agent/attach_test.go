package agent_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/agent"
	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/test/apptest"
)

type filePart struct {
	Type     string
	URL      string
	MIMEType string `json:"mime_type"`
	Name     string
	Size     int64
	FileID   string `json:"file_id"`
}

// TestFilesFromTheAgent: what an agent attaches reaches the caller over REST
// and over MCP, byte for byte, and belongs to the caller.
func TestFilesFromTheAgent(t *testing.T) {
	app := apptest.Start(t, apptest.Config(t))
	content := make([]byte, 2<<20)
	rand.Read(content) //nolint:errcheck // it never fails
	connected, done, late := make(chan string, 1), make(chan error, 1), make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { // awaited below
		done <- agent.Run(ctx, agent.Options{
			Name: "painter", Gateway: app.Agents, Key: app.UserKey, Identity: filepath.Join(t.TempDir(), "id.json"),
			Log: slog.New(slog.NewTextHandler(t.Output(), nil)), Connected: func(id string) { connected <- id },
			Tools: []agent.Tool{{Name: "paint", Schema: json.RawMessage(`{"type":"object"}`)}},
		}, func(ctx context.Context, m agent.Message, r *agent.Reply) error {
			if m.Text == "nonsense" {
				_, err := r.Attach(ctx, "x", "no type", strings.NewReader("x"))
				return r.Send(fmt.Sprint(beeos.CodeOf(err)))
			}
			a, err := r.Attach(ctx, "noise.bin", "application/octet-stream", bytes.NewReader(content))
			if err != nil {
				return err
			}
			if _, err := r.Attach(ctx, "empty.txt", "text/plain", io.MultiReader()); err != nil { // of unknown length
				return err
			}
			if err := r.Send("painted " + a.FileID); err != nil {
				return err
			}
			_, err = r.Attach(ctx, "late.txt", "text/plain", strings.NewReader("x"))
			late <- err
			return nil
		})
	}()
	id := <-connected
	c := client.New(app.REST, app.UserKey)
	answer, err := c.Invoke(ctx, id, client.InvokeRequest{Message: "paint"})
	if err != nil {
		t.Fatal(err)
	}
	if err := <-late; !errors.Is(err, agent.ErrEnded) {
		t.Errorf("after the end: %v", err)
	}
	var parts []filePart
	if err := json.Unmarshal(answer.Parts, &parts); err != nil || len(parts) != 2 {
		t.Fatalf("parts %s, %v", answer.Parts, err)
	}
	p := parts[0]
	if p.Type != "file" || p.Name != "noise.bin" || p.MIMEType != "application/octet-stream" || p.Size != 2<<20 || "painted "+p.FileID != answer.Text {
		t.Errorf("part %+v of %q", p, answer.Text)
	}
	if got := fetch(t, p.URL); !bytes.Equal(got, content) {
		t.Errorf("%d bytes came, and not as they were", len(got))
	}
	if got := fetch(t, parts[1].URL); len(got) != 0 || parts[1].Size != 0 {
		t.Errorf("%d bytes of an empty file", len(got))
	}
	if f, err := c.File(ctx, p.FileID); err != nil || f.Size != 2<<20 || f.Filename != "noise.bin" {
		t.Errorf("the caller's file is %+v, %v", f, err)
	}
	// The key of another principal does not have it.
	if _, err := client.New(app.REST, app.AgentKey).File(ctx, p.FileID); beeos.CodeOf(err) != beeos.NotFound {
		t.Errorf("somebody else's file: %v", err)
	}
	if answer, err := c.Invoke(ctx, id, client.InvokeRequest{Message: "nonsense"}); err != nil || answer.Text != "invalid_param" {
		t.Errorf("nonsense: %+v, %v", answer, err)
	}

	result, err := c.CallTool(ctx, &client.Agent{Name: "painter", MCPURL: app.MCP + "/" + id + "/mcp"}, "paint", json.RawMessage(`{}`))
	<-late
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(result)
	if err != nil || !bytes.Contains(raw, []byte(`"resource_link"`)) || !bytes.Contains(raw, []byte(`"noise.bin"`)) {
		t.Errorf("over MCP: %s, %v", raw, err)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func fetch(t *testing.T, url string) []byte {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s, %v", resp.Status, err)
	}
	return got
}
