package client_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/test/apptest"
)

func TestAgainstRealServer(t *testing.T) {
	app := apptest.Start(t, apptest.Config(t))
	ctx := t.Context()
	c := client.New(app.REST+"/api/v1/", app.UserKey)

	a, err := c.Find(ctx, "echo")
	if err != nil || a.ID != app.AgentID || !a.Online {
		t.Fatalf("Find(echo) = %+v, %v", a, err)
	}
	if _, err := c.Find(ctx, "nobody"); beeos.CodeOf(err) != beeos.AgentNotFound {
		t.Errorf("Find(nobody): %v", err)
	}
	answer, err := c.Invoke(ctx, a.ID, client.InvokeRequest{Message: "hi there"})
	if err != nil || answer.Text != "you said: hi there" || answer.IsError {
		t.Errorf("Invoke = %+v, %v", answer, err)
	}
	var deltas strings.Builder
	var done *client.Answer
	for ev, err := range c.Stream(ctx, a.ID, client.InvokeRequest{Message: "one two", ContextID: answer.ContextID}) {
		if err != nil {
			t.Fatal(err)
		}
		deltas.WriteString(ev.Delta)
		done = ev.Done
	}
	if done == nil || done.Text != "you said: one two" || done.ContextID != answer.ContextID {
		t.Errorf("stream ended with %+v", done)
	}
	if !strings.HasPrefix(done.Text, deltas.String()) {
		t.Errorf("deltas %q are no beginning of %q", deltas.String(), done.Text)
	}
	r, err := c.CallTool(ctx, a, a.ID, json.RawMessage(`{"message":"by MCP"}`))
	if err != nil || r.IsError || r.Text() != "you said: by MCP" {
		t.Errorf("CallTool = %+v, %v", r, err)
	}
	if _, err := c.CallTool(ctx, a, "nothing", json.RawMessage(`{}`)); beeos.CodeOf(err) != beeos.NotFound {
		t.Errorf("an unknown tool: %v", err)
	}
	testKeys(t, app, c)
}

func testKeys(t *testing.T, app *apptest.App, c *client.Client) {
	ctx := t.Context()
	k, err := c.CreateKey(ctx, "", client.KeyRequest{Name: "x", ExpiresAt: time.Now().Add(time.Hour)})
	if err != nil || !strings.HasPrefix(k.Secret, "oag_") {
		t.Fatalf("CreateKey = %+v, %v", k, err)
	}
	mine := client.New(app.REST, k.Secret)
	if _, err := mine.Agents(ctx); err != nil {
		t.Errorf("the new key: %v", err)
	}
	if err := c.RevokeKey(ctx, "", k.ID); err != nil {
		t.Errorf("RevokeKey: %v", err)
	}
	if _, err := mine.Agents(ctx); beeos.CodeOf(err) != beeos.InvalidToken {
		t.Errorf("the revoked key: %v", err)
	}
	if keys, err := c.Keys(ctx, app.AgentID); err != nil || len(keys) != 1 || keys[0].Secret != "" {
		t.Errorf("Keys = %+v, %v", keys, err)
	}
	hidden := "unlisted"
	if a, err := c.UpdateAgent(ctx, app.AgentID, client.AgentUpdate{Visibility: &hidden}); err != nil || a.Visibility != hidden {
		t.Errorf("UpdateAgent = %+v, %v", a, err)
	}
	if tk, err := c.CreateJoinToken(ctx, time.Minute); err != nil || tk.Token == "" {
		t.Errorf("CreateJoinToken = %+v, %v", tk, err)
	}
	if err := c.DeleteAgent(ctx, "agent_nobody"); beeos.CodeOf(err) != beeos.AgentNotFound {
		t.Errorf("DeleteAgent: %v", err)
	}
}

// TestStrangeServers is about answers that BeeOS never gives.
func TestStrangeServers(t *testing.T) {
	for name, c := range map[string]struct {
		status     int
		body, want string
		code       beeos.Code
	}{
		"a web page":      {200, "<html>", "does not answer like the REST surface of BeeOS; check the URL", beeos.InternalError},
		"a proxy's error": {502, "bad gateway", "answered 502", beeos.InternalError},
		"our error":       {429, `{"success":false,"error":{"code":"rate_limited","message":"slow down"}}`, "slow down", beeos.RateLimited},
	} {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "7")
			w.WriteHeader(c.status)
			w.Write([]byte(c.body)) //nolint:errcheck // a test's own client reads it
		}))
		_, err := client.New(srv.URL, "key").Invoke(t.Context(), "a", client.InvokeRequest{Message: "x"})
		srv.Close()
		if err == nil || !strings.Contains(err.Error(), c.want) || beeos.CodeOf(err) != c.code {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
		if c.code == beeos.RateLimited && beeos.Public(err).RetryAfter != 7*time.Second {
			t.Errorf("%s: retry after %s", name, beeos.Public(err).RetryAfter)
		}
	}
}

func TestBrokenStream(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Write([]byte(": alive\n\ndata: {\"type\":\"news\"}\n\ndata: {\"type\":\"delta\",\"text\":\"a\"}\n\n")) //nolint:errcheck // a test's own client reads it
	}))
	defer srv.Close()
	var got []string
	for ev, err := range client.New(srv.URL, "key").Stream(context.Background(), "a", client.InvokeRequest{Message: "x"}) {
		if err != nil {
			got = append(got, err.Error())
			continue
		}
		got = append(got, ev.Delta)
	}
	if len(got) != 2 || got[0] != "a" || !strings.Contains(got[1], "ended before") {
		t.Errorf("got %q", got)
	}
}
