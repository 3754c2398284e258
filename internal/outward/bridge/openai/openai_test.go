package openai_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/beeos/beeos/agent"
	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/internal/outward/bridge/openai"
	"github.com/beeos/beeos/internal/outward/bridge/settings"
	"github.com/beeos/beeos/internal/outward/bridge/upstream"
	"github.com/beeos/beeos/test/apptest"
	"github.com/beeos/beeos/test/bridgetest"
)

// llm is an OpenAI-compatible endpoint that does what the last message says.
func llm(t *testing.T, seen chan<- []string, gone chan<- struct{}) *httptest.Server {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var req struct {
			Model    string
			Stream   bool
			Messages []struct{ Role, Content string }
		}
		if err := json.NewDecoder(r.Body).Decode(&req); err != nil || r.URL.Path != "/v1/chat/completions" || req.Model != "tiny" || !req.Stream {
			t.Errorf("%s: %+v, %v", r.URL.Path, req, err)
		}
		if r.Header.Get("Authorization") != "Bearer "+bridgetest.Secret {
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprint(w, `{"error":{"message":"Incorrect API key provided: `+strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")+`","type":"invalid_request_error"}}`)
			return
		}
		var said []string
		for _, m := range req.Messages {
			said = append(said, m.Role+": "+m.Content)
		}
		seen <- said
		w.Header().Set("Content-Type", "text/event-stream")
		piece := func(delta string) {
			fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":%s}]}\n\n", delta)
			w.(http.Flusher).Flush()
		}
		switch req.Messages[len(req.Messages)-1].Content {
		case "hang":
			piece(`{"content":"I "}`)
			<-r.Context().Done()
			gone <- struct{}{}
			return
		case "break":
			piece(`{"content":"I "}`)
			panic(http.ErrAbortHandler)
		case "silence":
		case "refuse":
			piece(`{"refusal":"I will not"}`)
		default:
			piece(`{"reasoning_content":"hm"}`)
			piece(`{"content":"I heard "}`)
			piece(`{"content":"you"}`)
			fmt.Fprint(w, "data: {\"choices\":[],\"usage\":{\"total_tokens\":3}}\n\n")
		}
		fmt.Fprint(w, "data: [DONE]\n\n")
	}))
	t.Cleanup(s.Close)
	return s
}

func TestModelAnswers(t *testing.T) {
	app := apptest.Start(t, apptest.Config(t))
	seen, gone := make(chan []string, 16), make(chan struct{}, 1)
	endpoint := llm(t, seen, gone)
	serve := func(key string) func(context.Context, agent.Options) error {
		return func(ctx context.Context, o agent.Options) error {
			return (&openai.Options{URL: endpoint.URL + "/v1/", Model: "tiny", System: "Be brief.", Key: upstream.Secret(key)}).Run(ctx, settings.Bridge{Agent: o})
		}
	}
	var log bridgetest.Journal
	id := bridgetest.Connect(t, app, &log, "llm", serve(bridgetest.Secret))
	locked := bridgetest.Connect(t, app, &bridgetest.Journal{}, "locked", serve("wrong-key-1"))
	c := client.New(app.REST, app.UserKey)
	say := func(agent, text, want string, failed bool) {
		t.Helper()
		got, err := c.Invoke(t.Context(), agent, client.InvokeRequest{Message: text, ContextID: "c"})
		if err != nil || got.Text != want || got.IsError != failed {
			t.Errorf("%s: %+v, %v, want %q", text, got, err, want)
		}
	}
	say(id, "hello", "I heard you", false)
	say(id, "again", "I heard you", false)
	<-seen
	want := []string{"system: Be brief.", "user: hello", "assistant: I heard you", "user: again"}
	if diff := cmp.Diff(want, <-seen); diff != "" {
		t.Errorf("the model was told (-want +got):\n%s", diff)
	}
	say(id, "silence", "the model behind this agent said nothing", true)
	if _, err := c.Invoke(t.Context(), id, client.InvokeRequest{Message: "refuse"}); err == nil || !strings.Contains(err.Error(), "I will not") {
		t.Errorf("refuse: %v", err)
	}
	say(locked, "hello", "the model behind this agent answered 401: Incorrect API key provided: [hidden]", true)
	got, err := c.Invoke(t.Context(), id, client.InvokeRequest{Message: "break"})
	if err != nil || !got.IsError || !strings.HasPrefix(got.Text, "the model behind this agent: ") {
		t.Errorf("break: %+v, %v", got, err)
	}
	for len(seen) > 0 {
		<-seen
	}
	bridgetest.CancelTurn(t, app, id, "hang", func() { <-seen })
	<-gone
}

// TestRedirectIsNoAnswer: the error says what to do about it.
func TestRedirectIsNoAnswer(t *testing.T) {
	app := apptest.Start(t, apptest.Config(t))
	var endpoint *httptest.Server
	endpoint = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, endpoint.URL, http.StatusTemporaryRedirect)
	}))
	t.Cleanup(endpoint.Close)
	id := bridgetest.Connect(t, app, &bridgetest.Journal{}, "llm", func(ctx context.Context, o agent.Options) error {
		return (&openai.Options{URL: endpoint.URL + "/v1", Model: "tiny"}).Run(ctx, settings.Bridge{Agent: o})
	})
	got, err := client.New(app.REST, app.UserKey).Invoke(t.Context(), id, client.InvokeRequest{Message: "hello"})
	if err != nil || !got.IsError || !strings.Contains(got.Text, "307") || strings.Contains(got.Text, endpoint.URL) {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestCheckComplains(t *testing.T) {
	for _, o := range []openai.Options{{URL: "localhost:1", Model: "m"}, {URL: "http://localhost:1/v1"}} {
		if err := o.Check(&settings.Bridge{}); err == nil {
			t.Errorf("%+v: no error", o)
		}
	}
}

// TestModelSeesAttachments: the endpoint gets texts, pictures and PDF, and no link.
func TestModelSeesAttachments(t *testing.T) {
	app := apptest.Start(t, apptest.Config(t))
	seen := make(chan string, 1)
	endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		seen <- string(body)
		fmt.Fprint(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"seen\"}}]}\n\ndata: [DONE]\n\n")
	}))
	t.Cleanup(endpoint.Close)
	id := bridgetest.Connect(t, app, &bridgetest.Journal{}, "llm", func(ctx context.Context, o agent.Options) error {
		return (&openai.Options{URL: endpoint.URL + "/v1", Model: "tiny"}).Run(ctx, settings.Bridge{Agent: o})
	})
	c := client.New(app.REST, app.UserKey)
	var files []client.Attachment
	for _, f := range [][3]string{{"sums.csv", "text/csv", "a,42"}, {"dot.png", "image/png", "\x89PNG\r\n\x1a\nx"}, {"doc.pdf", "application/pdf", "%PDF-1.7 x"}, {"all.zip", "application/zip", "PK"}} {
		up, err := c.Upload(t.Context(), f[0], f[1], strings.NewReader(f[2]), int64(len(f[2])))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, client.Attachment{FileID: up.FileID})
	}
	if got, err := c.Invoke(t.Context(), id, client.InvokeRequest{Message: "look", Attachments: files}); err != nil || got.Text != "seen" {
		t.Fatalf("%+v, %v", got, err)
	}
	body := <-seen
	for _, want := range []string{`a,42`, `{"type":"image_url","image_url":{"url":"data:image/png;base64,`, `"file_data":"data:application/pdf;base64,`, `all.zip\" (application/zip, 2 bytes): you cannot see it`} {
		if !strings.Contains(body, want) {
			t.Errorf("no %s in %s", want, body)
		}
	}
	if strings.Contains(body, "http") {
		t.Errorf("a link went to the endpoint: %s", body)
	}
}
