package agentgateway

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/blob"
	"github.com/beeos/beeos/internal/engine/files"
)

// TestFilesForCallers: an agent makes files for whom it works for, while it
// does, and for nobody else.
func TestFilesForCallers(t *testing.T) {
	s := newStack(t)
	const path = "/api/v1/agents/files"
	ask := func(p *process, message string) (status int, file string) {
		t.Helper()
		body := []byte(`{"message_id":"` + message + `","filename":"a.txt","content_type":"text/plain"}`)
		var got struct {
			FileID    string `json:"file_id"`
			UploadURL string `json:"upload_url"`
		}
		status = p.exchange("POST", path, body, p.sign("POST", path, body), &got)
		if status == 200 && !strings.HasPrefix(got.UploadURL, "https://files.test/files/"+got.FileID+"?") {
			t.Errorf("upload to %s", got.UploadURL)
		}
		return status, got.FileID
	}
	p, stranger := s.join(), s.join()
	id := p.sync(beeos.Definition{Name: "echo"})["echo"]
	stranger.sync(beeos.Definition{Name: "other"})
	agent := p.websocket("")
	expect(t, agent, beeos.FrameHello)
	wait := s.ask(id, "hi")
	m := expect(t, agent, beeos.FrameMessage)

	if status, _ := ask(p, m.MessageID); status != 400 {
		t.Errorf("without a place for files: %d", status)
	}
	s.gateway.Files = &files.Files{Table: s.db.Files, Links: &blob.Signer{Key: blob.NewKey(), Base: "https://files.test"}, Log: slog.New(slog.DiscardHandler), Now: time.Now}
	status, file := ask(p, m.MessageID)
	if status != 200 {
		t.Fatalf("the agent's own: %d", status)
	}
	if f, err := s.db.Files.Get(t.Context(), file); err != nil || f.Owner != m.PublisherID || f.Stored {
		t.Errorf("it belongs to %q, want %q: %v", f.Owner, m.PublisherID, err)
	}
	if status, _ := ask(stranger, m.MessageID); status != 404 {
		t.Errorf("another instance: %d", status)
	}
	if status, _ := ask(p, beeos.NewID()); status != 404 {
		t.Errorf("an unknown message: %d", status)
	}
	for _, bad := range []string{`{}`, `[]`, `{"message_id":7}`, `{"message_id":"` + m.MessageID + `"}`} {
		if status := p.exchange("POST", path, []byte(bad), p.sign("POST", path, []byte(bad)), nil); status != 400 {
			t.Errorf("%s: %d", bad, status)
		}
	}
	agent.send(beeos.Frame{Type: beeos.FrameReply, MessageID: m.MessageID, Body: "ho"})
	wait()
	if status, _ := ask(p, m.MessageID); status != 404 {
		t.Errorf("after the reply: %d", status)
	}
}
