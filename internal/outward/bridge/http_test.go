package bridge_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/beeos/beeos/agent"
	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/internal/outward/bridge"
	"github.com/beeos/beeos/test/apptest"
)

const secret = "tok-5f3a9c"

// connected runs a bridge until the test ends and returns the agent's id.
func connected(t *testing.T, app *apptest.App, log *journal, name string, serve func(context.Context, agent.Options) error) string {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	id, done := make(chan string, 16), make(chan error, 1)
	go func() { // awaited below
		done <- serve(ctx, agent.Options{
			Name: name, Gateway: app.Agents, Key: app.UserKey, Identity: filepath.Join(t.TempDir(), "id.json"),
			Log:       slogTo(log),
			Connected: func(agentID string) { id <- agentID },
		})
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("%s ended with: %v", name, err)
		}
		if strings.Contains(log.String(), secret) {
			t.Errorf("the log of %s has a secret:\n%s", name, log.String())
		}
	})
	select {
	case got := <-id:
		return got
	case err := <-done:
		done <- nil
		t.Fatalf("%s ended with: %v\n%s", name, err, log.String())
	case <-time.After(20 * time.Second):
		t.Fatalf("%s does not connect:\n%s", name, log.String())
	}
	return ""
}

func TestHTTP(t *testing.T) {
	app := apptest.Start(t, apptest.Config(t))
	begun, gone := make(chan struct{}, 1), make(chan struct{}, 1)
	endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m struct{ ID, Text, Channel string }
		if err := json.NewDecoder(r.Body).Decode(&m); err != nil || m.ID == "" || r.Header.Get("Idempotency-Key") != m.ID {
			t.Errorf("the endpoint got %+v, %v", m, err)
		}
		if r.Header.Get("Authorization") != "Bearer "+secret {
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		switch m.Text {
		case "json":
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"reply":"fine","structured":{"n":1}}`)
		case "text":
			w.Header().Set("Content-Type", "text/plain; charset=utf-8")
			fmt.Fprint(w, "plain")
		case "stream":
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, ": hello\n\ndata: {\"reasoning\":\"hm\",\r\ndata: \"delta\":\"one \"}\r\n\r\ndata: {\"progress\":1,\"total\":2}\n\ndata: {\"reply\":\"two\"}\n\ndata: no\n\n")
		case "done":
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, "data: {\"delta\":\"all\"}\n\ndata: [DONE]\n\n")
		case "broken":
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, "data: {\"delta\":\"half\"}\n\n")
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		case "nonsense":
			fmt.Fprint(w, "<html>")
		case "empty":
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, "{}")
		case "nothing":
			w.WriteHeader(http.StatusNoContent)
		case "fails":
			w.WriteHeader(http.StatusTeapot)
			fmt.Fprintf(w, `{"error":{"message":"no coffee for %s"}}`, secret)
		case "says so":
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"error":"as you wish"}`)
		case "elsewhere":
			http.Redirect(w, r, "/other", http.StatusTemporaryRedirect)
		case "slow", "hang":
			if m.Text == "hang" {
				begun <- struct{}{}
			}
			<-r.Context().Done()
			if m.Text == "hang" {
				gone <- struct{}{}
			}
		}
	}))
	t.Cleanup(endpoint.Close)
	var log journal
	header := http.Header{"Authorization": {"Bearer " + secret}}
	id := connected(t, app, &log, "bot", func(ctx context.Context, o agent.Options) error {
		return bridge.HTTP(ctx, bridge.HTTPOptions{URL: endpoint.URL, Header: header, Agent: o})
	})
	quick := connected(t, app, &journal{}, "quick", func(ctx context.Context, o agent.Options) error {
		return bridge.HTTP(ctx, bridge.HTTPOptions{URL: endpoint.URL, Header: header, Timeout: 50 * time.Millisecond, Agent: o})
	})
	c := client.New(app.REST, app.UserKey)
	for _, step := range []struct {
		agent, text, want string
		failed            bool
	}{
		{id, "json", "fine", false},
		{id, "text", "plain", false},
		{id, "stream", "one two", false},
		{id, "done", "all", false},
		{id, "nothing", "", false},
		{id, "broken", "the stream broke off: unexpected EOF", true},
		{id, "nonsense", "the endpoint behind this agent answered with something that is no answer", true},
		{id, "empty", "the endpoint behind this agent answered with something that is no answer", true},
		{id, "fails", "the endpoint behind this agent answered 418 I'm a teapot: no coffee for [hidden]", true},
		{id, "says so", "as you wish", true},
		{id, "elsewhere", "the endpoint behind this agent answered 307 Temporary Redirect", true},
		{quick, "slow", "the endpoint behind this agent did not answer in time", true},
	} {
		got, err := c.Invoke(t.Context(), step.agent, client.InvokeRequest{Message: step.text})
		if err != nil {
			t.Fatalf("%s: %v", step.text, err)
		}
		if got.Text != step.want || got.IsError != step.failed {
			t.Errorf("%s: %q (%v), want %q", step.text, got.Text, got.IsError, step.want)
		}
	}
	// A caller that cancels ends the request.
	cancelTurn(t, app, id, "hang", func() { <-begun })
	<-gone
}

// cancelTurn sends a message and, once it is being answered, takes it back.
func cancelTurn(t *testing.T, app *apptest.App, id, text string, begun func()) {
	t.Helper()
	channel := rest(t, app, "/channels", map[string]any{"agent_id": id})
	turn := rest(t, app, "/channels/"+channel+"/messages", map[string]any{"body": text})
	begun()
	rest(t, app, "/channels/"+channel+"/messages", map[string]any{"type": "chat_cancel", "in_reply_to": turn, "reason": "enough"})
	rest(t, app, "/channels/"+channel+"/wait", map[string]any{"in_reply_to": turn})
}

// rest posts to the REST surface and returns the id of what came of it.
func rest(t *testing.T, app *apptest.App, path string, body map[string]any) string {
	t.Helper()
	raw, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), "POST", app.REST+path, strings.NewReader(string(raw)))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+app.UserKey)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var got struct {
		Data struct {
			Channel string `json:"channel_id"`
			Message string `json:"message_id"`
		} `json:"data"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&got); err != nil || resp.StatusCode >= 300 {
		t.Fatalf("%s: %d %v", path, resp.StatusCode, err)
	}
	if got.Data.Message != "" {
		return got.Data.Message
	}
	return got.Data.Channel
}

func TestReadHeaders(t *testing.T) {
	path := filepath.Join(t.TempDir(), "headers")
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("# mine\nX-Api-Key: " + secret + "\n\nauthorization: Bearer x:y\n")
	h, err := bridge.ReadHeaders(path)
	if err != nil || h.Get("X-Api-Key") != secret || h.Get("Authorization") != "Bearer x:y" {
		t.Errorf("%v, %v", h, err)
	}
	write("A: b\n" + secret + "\n")
	if _, err := bridge.ReadHeaders(path); err == nil || !strings.Contains(err.Error(), ":2 is not a header") || strings.Contains(err.Error(), secret) {
		t.Error(err)
	}
}

func TestSecretEnv(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(path, []byte(secret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("BRIDGE_TEST_KEY_FILE", path)
	if got, err := bridge.SecretEnv("BRIDGE_TEST_KEY"); err != nil || got != secret {
		t.Errorf("%q, %v", got, err)
	}
	t.Setenv("BRIDGE_TEST_KEY", "direct")
	if got, err := bridge.SecretEnv("BRIDGE_TEST_KEY"); err != nil || got != "direct" {
		t.Errorf("%q, %v", got, err)
	}
	t.Setenv("BRIDGE_TEST_OTHER_FILE", path+".missing")
	if _, err := bridge.SecretEnv("BRIDGE_TEST_OTHER"); err == nil {
		t.Error("no error for a file that is not there")
	}
}

func slogTo(log *journal) *slog.Logger {
	return slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
}
