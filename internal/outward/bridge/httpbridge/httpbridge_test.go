package httpbridge_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/beeos/beeos/agent"
	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/internal/outward/bridge/httpbridge"
	"github.com/beeos/beeos/internal/outward/bridge/settings"
	"github.com/beeos/beeos/internal/outward/bridge/upstream"
	"github.com/beeos/beeos/test/apptest"
	"github.com/beeos/beeos/test/bridgetest"
)

func TestEndpointAnswers(t *testing.T) {
	app := apptest.Start(t, apptest.Config(t))
	begun, gone := make(chan struct{}, 1), make(chan struct{}, 1)
	endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost { // it does not say what it offers
			http.Error(w, "POST", http.StatusMethodNotAllowed)
			return
		}
		var m struct{ ID, Text, Channel string }
		if err := json.NewDecoder(r.Body).Decode(&m); err != nil || m.ID == "" || r.Header.Get("Idempotency-Key") != m.ID {
			t.Errorf("the endpoint got %+v, %v", m, err)
		}
		if r.Header.Get("Authorization") != "Bearer "+bridgetest.Secret {
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
			fmt.Fprintf(w, `{"error":{"message":"no coffee for %s"}}`, bridgetest.Secret)
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
	var log bridgetest.Journal
	header := http.Header{"Authorization": {"Bearer " + bridgetest.Secret}}
	id := bridgetest.Connect(t, app, &log, "bot", func(ctx context.Context, o agent.Options) error {
		return (&httpbridge.Options{URL: endpoint.URL}).Run(ctx, settings.Bridge{Header: header, Agent: o})
	})
	quick := bridgetest.Connect(t, app, &bridgetest.Journal{}, "quick", func(ctx context.Context, o agent.Options) error {
		return (&httpbridge.Options{URL: endpoint.URL, Timeout: upstream.Duration(50 * time.Millisecond)}).Run(ctx, settings.Bridge{Header: header, Agent: o})
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
		{id, "nonsense", `the endpoint behind this agent answered with something that is no answer: it is not JSON and came with the content type text/html; charset=utf-8; send text/plain for a text, application/json for {"reply": ...}, or text/event-stream`, true},
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
	bridgetest.CancelTurn(t, app, id, "hang", func() { <-begun })
	<-gone
}
