package bridge_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/agent"
	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/internal/outward/bridge/a2a"
	mcpbridge "github.com/beeos/beeos/internal/outward/bridge/mcp"
	"github.com/beeos/beeos/internal/outward/bridge/openai"
	"github.com/beeos/beeos/internal/outward/bridge/settings"
	"github.com/beeos/beeos/test/apptest"
	"github.com/beeos/beeos/test/bridgetest"
)

// connectBridge serves a bridge as an agent.
func connectBridge(t *testing.T, app *apptest.App, name string, run func(context.Context, settings.Bridge) error) (id string) {
	t.Helper()
	return bridgetest.Connect(t, app, &bridgetest.Journal{}, name, func(ctx context.Context, o agent.Options) error {
		return run(ctx, settings.Bridge{Agent: o})
	})
}

// lastSteps are those of the newest call to an agent.
func lastSteps(t *testing.T, c *client.Client, id string) []beeos.Step {
	t.Helper()
	for one, err := range c.Calls(t.Context(), client.CallFilter{AgentID: id}) {
		if err != nil {
			t.Fatal(err)
		}
		made, err := c.Call(t.Context(), one.ID)
		if err != nil {
			t.Fatal(err)
		}
		return made.Steps
	}
	t.Fatal("there is no call")
	return nil
}

// TestModelCallsAreSteps: with what they took, however they ended, and from an
// endpoint that does not want to be asked for that, too.
func TestModelCallsAreSteps(t *testing.T) {
	app := apptest.Start(t, apptest.Config(t))
	var asked atomic.Int32
	endpoint := func(takesOptions bool) *httptest.Server {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asked.Add(1)
			var req struct {
				Options  *struct{} `json:"stream_options"`
				Messages []struct{ Content string }
			}
			if err := json.NewDecoder(r.Body).Decode(&req); err != nil {
				t.Error(err)
			}
			if req.Options != nil && !takesOptions {
				w.WriteHeader(http.StatusUnprocessableEntity)
				fmt.Fprint(w, `{"error":{"message":"Extra inputs are not permitted: stream_options"}}`)
				return
			}
			if req.Messages[len(req.Messages)-1].Content == "break" {
				w.WriteHeader(http.StatusInternalServerError)
				fmt.Fprint(w, `{"error":{"message":"out of memory"}}`)
				return
			}
			fmt.Fprint(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"fine\"}}]}\n\n")
			fmt.Fprint(w, "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"length\"}]}\n\n")
			if req.Options != nil {
				fmt.Fprint(w, "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":12,\"completion_tokens\":34}}\n\n")
			}
			fmt.Fprint(w, "data: [DONE]\n\n")
		}))
		t.Cleanup(s.Close)
		return s
	}
	c := client.New(app.REST, app.UserKey)
	say := func(id, text string) beeos.Step {
		t.Helper()
		if _, err := c.Invoke(t.Context(), id, client.InvokeRequest{Message: text}); err != nil {
			t.Fatal(err)
		}
		steps := lastSteps(t, c, id)
		if len(steps) != 1 || steps[0].Kind != beeos.StepModel || steps[0].Name != "tiny" || steps[0].Model != "tiny" {
			t.Fatalf("%s: %+v", text, steps)
		}
		return steps[0]
	}
	tells := connectBridge(t, app, "tells", (&openai.Options{URL: endpoint(true).URL, Model: "tiny"}).Run)
	if s := say(tells, "hi"); s.InputTokens != 12 || s.OutputTokens != 34 || s.Attributes["finish"] != "length" || s.Attributes["provider"] != "openai" || s.Error != "" {
		t.Errorf("%+v", s)
	}
	if s := say(tells, "break"); !strings.Contains(s.Error, "out of memory") || s.InputTokens != 0 {
		t.Errorf("%+v", s)
	}
	silent := connectBridge(t, app, "silent", (&openai.Options{URL: endpoint(false).URL, Model: "tiny"}).Run)
	asked.Store(0)
	for range 2 {
		if s := say(silent, "hi"); s.InputTokens != 0 || s.Attributes["finish"] != "length" || s.Error != "" {
			t.Errorf("%+v", s)
		}
	}
	if n := asked.Load(); n != 3 {
		t.Errorf("it was asked %d times: what it does not take, once", n)
	}
}

// TestToolCallsAreSteps: with the server, how much came back, and what went wrong.
func TestToolCallsAreSteps(t *testing.T) {
	app := apptest.Start(t, apptest.Config(t))
	server := bridgetest.NewMCPServer()
	server.AddTool(&mcp.Tool{Name: "broken", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: "out of paper"}}}, nil
	})
	s := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil))
	t.Cleanup(s.Close)
	id := connectBridge(t, app, "tools", (&mcpbridge.Options{Server: bridgetest.Command(s.URL)}).Run)
	for tool, wrong := range map[string]string{"echo": "", "broken": "out of paper"} {
		body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + tool + `","arguments":{}}}`
		req, err := http.NewRequestWithContext(t.Context(), "POST", app.MCP+"/"+id+"/mcp", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+app.UserKey)
		req.Header.Set("Content-Type", "application/json")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		steps := lastSteps(t, client.New(app.REST, app.UserKey), id)
		if len(steps) != 1 || steps[0].Kind != beeos.StepTool || steps[0].Name != tool || steps[0].Attributes["server"] == "" || steps[0].Attributes["result_bytes"] == "" || steps[0].Error != wrong {
			t.Errorf("%s: %+v", tool, steps)
		}
	}
}

// TestSendingIsAStep: each message to a peer, with its task and how that stands.
func TestSendingIsAStep(t *testing.T) {
	app := apptest.Start(t, apptest.Config(t))
	var peer *httptest.Server
	var asked atomic.Int32
	peer = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			fmt.Fprint(w, strings.ReplaceAll(bridgetest.StreamingCard, "%s", peer.URL))
			return
		}
		if asked.Add(1) == 1 {
			bridgetest.WriteEvents(w, bridgetest.ArtifactChunk("fine", false), bridgetest.StatusUpdate("COMPLETED", ""))
			return
		}
		bridgetest.WriteEvents(w, bridgetest.StatusUpdate("FAILED", "no"))
	}))
	t.Cleanup(peer.Close)
	id := connectBridge(t, app, "peer", (&a2a.Options{URL: peer.URL}).Run)
	c := client.New(app.REST, app.UserKey)
	for _, state := range []string{"completed", "failed"} {
		if _, err := c.Invoke(t.Context(), id, client.InvokeRequest{Message: "hi"}); err != nil {
			t.Fatal(err)
		}
		steps := lastSteps(t, c, id)
		if len(steps) != 1 || steps[0].Name != "SendMessage" || steps[0].Attributes["state"] != state || steps[0].Attributes["task"] == "" || (steps[0].Error != "") != (state == "failed") {
			t.Errorf("%s: %+v", state, steps)
		}
	}
}
