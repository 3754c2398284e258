package bridgetest

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/beeos/beeos/agent"
	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/internal/outward/bridge/upstream"
	"github.com/beeos/beeos/test/apptest"
)

// Secret is a credential that no log may show; Connect checks that.
const Secret = "tok-5f3a9c"

// Command is a command of these words, as a file would have it.
func Command(words ...string) (c upstream.Command) {
	var list yaml.Node
	if err := errors.Join(list.Encode(words), c.UnmarshalYAML(&list)); err != nil {
		panic(err) // words always make one
	}
	return c
}

// Connect runs a bridge until the test ends and returns the agent's id.
func Connect(t *testing.T, app *apptest.App, log *Journal, name string, serve func(context.Context, agent.Options) error) string {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	id, done := make(chan string, 16), make(chan error, 1)
	go func() { // awaited below
		done <- serve(ctx, agent.Options{
			Name: name, Gateway: app.Agents, Key: app.UserKey, Identity: filepath.Join(t.TempDir(), "id.json"),
			Log:       NewLogger(log),
			Connected: func(agentID string) { id <- agentID },
		})
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("%s ended with: %v", name, err)
		}
		if strings.Contains(log.String(), Secret) {
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

// CancelTurn sends a message and, once it is being answered, takes it back.
func CancelTurn(t *testing.T, app *apptest.App, id, text string, begun func()) {
	t.Helper()
	channel := postREST(t, app, "/channels", map[string]any{"agent_id": id})
	turn := postREST(t, app, "/channels/"+channel+"/messages", map[string]any{"body": text})
	begun()
	postREST(t, app, "/channels/"+channel+"/messages", map[string]any{"type": "chat_cancel", "in_reply_to": turn, "reason": "enough"})
	postREST(t, app, "/channels/"+channel+"/wait", map[string]any{"in_reply_to": turn})
}

// postREST posts to the REST surface and returns the id of what came of it.
func postREST(t *testing.T, app *apptest.App, path string, body map[string]any) string {
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

// AwaitApproval returns the first tool call that waits for a person.
func AwaitApproval(t *testing.T, owner *client.Client) client.Approval {
	t.Helper()
	tick, within := time.NewTicker(20*time.Millisecond), time.After(20*time.Second)
	defer tick.Stop()
	for {
		open, err := owner.Approvals(t.Context(), "pending")
		if err != nil {
			t.Fatal(err)
		}
		if len(open) > 0 {
			return open[0]
		}
		select {
		case <-tick.C:
		case <-within:
			t.Fatal("nothing waits for a person")
		}
	}
}

// AwaitTool waits until the agent offers a tool, and returns the agent.
func AwaitTool(t *testing.T, owner *client.Client, id, tool string) *client.Agent {
	t.Helper()
	tick, within := time.NewTicker(20*time.Millisecond), time.After(20*time.Second)
	defer tick.Stop()
	for {
		a, err := owner.Agent(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range a.Skills {
			if s.Name == tool {
				return a
			}
		}
		select {
		case <-tick.C:
		case <-within:
			t.Fatalf("the agent offers no %s: %+v", tool, a)
		}
	}
}
