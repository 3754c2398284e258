package llm

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/beeos/beeos/agent"
)

const (
	tinyPNG = "\x89PNG\r\n\x1a\nrest"
	tinyPDF = "%PDF-1.7 rest"
)

// attached returns attachments whose bytes a server has.
func attached(t *testing.T, files ...agent.Attachment) []agent.Attachment {
	t.Helper()
	content := map[string]string{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c, ok := content[r.URL.Path]; ok {
			_, _ = w.Write([]byte(c))
			return
		}
		w.WriteHeader(http.StatusGone)
	}))
	t.Cleanup(s.Close)
	for i := range files {
		if text := files[i].URL; text != "" { // the content, for the tests here
			path := "/" + files[i].Filename
			content[path], files[i].Size = text, int64(len(text))
			files[i].URL = s.URL + path + "?sig=s3cret"
		} else {
			files[i].URL = s.URL + "/gone?sig=s3cret"
		}
	}
	return files
}

// TestAttachmentsBeforeTheModel: texts are text, pictures and PDF are files, and
// the model is told about the rest, without any link.
func TestAttachmentsBeforeTheModel(t *testing.T) {
	m := Message{Role: User, Text: "Look."}
	NewAttachmentReader().Add(t.Context(), &m, attached(t,
		agent.Attachment{Filename: "a.csv", ContentType: "text/csv; charset=utf-8", URL: "x,y"},
		agent.Attachment{Filename: "b.png", ContentType: "image/jpeg", URL: tinyPNG},
		agent.Attachment{Filename: "c.pdf", ContentType: "application/pdf", URL: tinyPDF},
		agent.Attachment{Filename: "d.zip", ContentType: "application/zip", URL: "PK"},
		agent.Attachment{Filename: "e.pdf", ContentType: "application/pdf", URL: "no pdf"},
		agent.Attachment{Filename: "f.bin", ContentType: "application/octet-stream", URL: "a\x00b"},
		agent.Attachment{Filename: "g.md", ContentType: "text/markdown", Size: 5},
		agent.Attachment{Filename: "h.txt", ContentType: "text/plain", URL: strings.Repeat("ä", maxTextFile/2) + "ä"},
	))
	want := []File{{"b.png", "image/png", []byte(tinyPNG)}, {"c.pdf", "application/pdf", []byte(tinyPDF)}}
	if diff := cmp.Diff(want, m.Files); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	for _, says := range []string{
		"Look.\n\n[attached file \"a.csv\" (text/csv; charset=utf-8, 3 bytes):]\nx,y\n[end of the file]",
		`"d.zip" (application/zip, 2 bytes): you cannot see it, only texts`,
		`"e.pdf" (application/pdf, 6 bytes): you cannot see it, since it is no PDF`,
		`"f.bin" (application/octet-stream, 3 bytes): you cannot see it, since it is not a text`,
		`"g.md" (text/markdown, 5 bytes): you cannot see it, since it could not be read`,
		"[cut here: the file has 65538 bytes, and these are the first 65536]",
	} {
		if !strings.Contains(m.Text, says) {
			t.Errorf("no %q", says)
		}
	}
	if strings.Contains(m.Text, "s3cret") || strings.Contains(m.Text, "http") {
		t.Error("the model was given a link")
	}
}

// TestAttachmentsHaveRoom: what is too large, alone or together, is left out.
func TestAttachmentsHaveRoom(t *testing.T) {
	m := Message{Role: User}
	big := tinyPDF + strings.Repeat("x", 6<<20)
	NewAttachmentReader().Add(t.Context(), &m, attached(t,
		agent.Attachment{Filename: "a.pdf", ContentType: "application/pdf", URL: big},
		agent.Attachment{Filename: "b.pdf", ContentType: "application/pdf", URL: big},
		agent.Attachment{Filename: "c.png", ContentType: "image/png", URL: tinyPNG + strings.Repeat("x", maxPicture)},
	))
	if len(m.Files) != 1 || m.Files[0].Name != "a.pdf" || !strings.Contains(m.Text, "no room for it beside") || !strings.Contains(m.Text, "larger than 3840 KiB") {
		t.Errorf("%d files: %s", len(m.Files), m.Text)
	}
}

// TestFilesOnTheWire: each service gets pictures and documents in its own form.
func TestFilesOnTheWire(t *testing.T) {
	talk := Request{Messages: []Message{{Role: User, Text: "Look.", Files: []File{{"b.png", "image/png", []byte("P")}, {"c.pdf", "application/pdf", []byte("D")}}}}}
	for provider, c := range map[string]struct{ body, want string }{
		OpenAI: {openaiCalls, `[{"type":"image_url","image_url":{"url":"data:image/png;base64,UA=="}},
			{"type":"file","file":{"filename":"c.pdf","file_data":"data:application/pdf;base64,RA=="}}, {"type":"text","text":"Look."}]`},
		Anthropic: {anthropicCalls, `[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"UA=="}},
			{"type":"document","title":"c.pdf","source":{"type":"base64","media_type":"application/pdf","data":"RA=="}}, {"type":"text","text":"Look."}]`},
	} {
		t.Run(provider, func(t *testing.T) {
			s := serve(t, answer{body: c.body})
			m, _ := s.open(t, provider)
			if _, err := listen(t.Context(), m, talk); err != nil {
				t.Fatal(err)
			}
			var want any
			if err := json.Unmarshal([]byte(c.want), &want); err != nil {
				t.Fatal(err)
			}
			got := s.bodies[0]["messages"].([]any)[0].(map[string]any)["content"]
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}
