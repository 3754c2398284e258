package builtin_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/internal/outward/builtin"
	"github.com/beeos/beeos/internal/outward/llm"
)

// upload puts a file on the server.
func upload(t *testing.T, c *client.Client, name, contentType, content string) client.Attachment {
	t.Helper()
	f, err := c.Upload(t.Context(), name, contentType, strings.NewReader(content), int64(len(content)))
	if err != nil {
		t.Fatal(err)
	}
	return client.Attachment{FileID: f.FileID}
}

// TestModelSeesAttachments: what a caller attaches is before the model, also when
// the conversation goes on, and never as a link.
func TestModelSeesAttachments(t *testing.T) {
	s := start(t, builtin.Options{Model: llm.Script(func(r llm.Request) []llm.Delta {
		var all []string
		for _, m := range r.Messages {
			all = append(all, m.Text)
			for _, f := range m.Files {
				all = append(all, fmt.Sprintf("%s=%s %q", f.Name, f.Type, f.Data))
			}
		}
		return []llm.Delta{{Text: strings.Join(all, "\n")}}
	})})
	_, id := s.create(t, builtin.Definition{Name: "reader"}, nil)
	c := client.New(s.REST, s.UserKey)
	first, err := c.Invoke(t.Context(), id, client.InvokeRequest{Message: "read this", Attachments: []client.Attachment{
		upload(t, c, "sums.csv", "text/csv", "a,42"), upload(t, c, "dot.png", "image/png", "\x89PNG\r\n\x1a\nx"), upload(t, c, "all.zip", "application/zip", "PK"),
	}})
	if err != nil {
		t.Fatal(err)
	}
	again := s.ask(t, id, first.ContextID, "and now?")
	for _, a := range []*client.Answer{first, again} {
		for _, want := range []string{"read this", `"sums.csv" (text/csv, 4 bytes):]` + "\na,42\n", `dot.png=image/png "\x89PNG`, `"all.zip" (application/zip, 2 bytes): you cannot see it`} {
			if !strings.Contains(a.Text, want) {
				t.Errorf("no %q in %q", want, a.Text)
			}
		}
		if strings.Contains(a.Text, "http") {
			t.Errorf("a link went to the model: %q", a.Text)
		}
	}
}

// TestServiceThatTakesNoPictures is asked again without them, and told.
func TestServiceThatTakesNoPictures(t *testing.T) {
	var mu sync.Mutex
	var bodies []string
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		bodies = append(bodies, string(body))
		mu.Unlock()
		if strings.Contains(string(body), "image_url") {
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, `{"error":{"message":"this model takes no images"}}`)
			return
		}
		fmt.Fprint(w, `data: {"choices":[{"index":0,"delta":{"content":"blind"},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")
	}))
	defer service.Close()
	model, err := llm.Open(llm.Settings{URL: service.URL, Model: "m", Key: "k"})
	if err != nil {
		t.Fatal(err)
	}
	s := start(t, builtin.Options{Model: model})
	_, id := s.create(t, builtin.Definition{Name: "reader"}, nil)
	c := client.New(s.REST, s.UserKey)
	a, err := c.Invoke(t.Context(), id, client.InvokeRequest{Message: "look", Attachments: []client.Attachment{upload(t, c, "dot.png", "image/png", "\x89PNG\r\n\x1a\nx")}})
	if err != nil || a.Text != "blind" || a.IsError {
		t.Errorf("%+v, %v", a, err)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(bodies) != 2 || !strings.Contains(bodies[0], "data:image/png;base64,") || !strings.Contains(bodies[1], "You cannot see the pictures") {
		t.Errorf("asked with %q", bodies)
	}
}
