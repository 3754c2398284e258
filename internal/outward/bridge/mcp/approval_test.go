package mcp_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/beeos/beeos/agent"
	"github.com/beeos/beeos/client"
	bridge "github.com/beeos/beeos/internal/outward/bridge/mcp"
	"github.com/beeos/beeos/internal/outward/bridge/settings"
	"github.com/beeos/beeos/test/apptest"
	"github.com/beeos/beeos/test/bridgetest"
)

// TestOwnerDecidesAboutTools: the owner of a bridged server can have its tools wait for a
// person, without the server knowing.
func TestOwnerDecidesAboutTools(t *testing.T) {
	server := bridgetest.NewMCPServer()
	behind := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil))
	t.Cleanup(behind.Close)
	app := apptest.Start(t, apptest.Config(t))
	var log bridgetest.Journal
	id := bridgetest.Connect(t, app, &log, "stand", func(ctx context.Context, ao agent.Options) error {
		return (&bridge.Options{Server: bridgetest.Command(behind.URL)}).Run(ctx, settings.Bridge{Agent: ao})
	})
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPatch, app.REST+"/api/v1/agents/"+id+"/approval-policy", strings.NewReader(`{"tools":[{"tool":"echo","auto_approve":false}]}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Header = http.Header{"Authorization": {"Bearer " + app.UserKey}, "Content-Type": {"application/json"}}
	resp, err := http.DefaultClient.Do(r)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatal(resp, err)
	}
	resp.Body.Close()
	owner, caller := client.New(app.REST, app.UserKey), call(t, app, id, "")
	for _, approve := range []bool{true, false} {
		answer := make(chan string, 1)
		go func() {
			res, err := caller.CallTool(t.Context(), &mcp.CallToolParams{Name: "echo", Arguments: map[string]any{"text": "hi"}})
			text, _ := json.Marshal(res)
			if err != nil {
				text = []byte(err.Error())
			}
			answer <- string(text)
		}()
		a := bridgetest.AwaitApproval(t, owner)
		if a.Tool != "echo" || string(a.Arguments) != `{"text":"hi"}` {
			t.Errorf("asked about %+v", a)
		}
		if approve {
			_, err = owner.Approve(t.Context(), a.ID)
		} else {
			_, err = owner.Reject(t.Context(), a.ID, "not today")
		}
		if err != nil {
			t.Fatal(err)
		}
		got := <-answer
		if approve && !strings.Contains(got, `"got":{"text":"hi"}`) || !approve && (!strings.Contains(got, "not today") || !strings.Contains(got, `"isError":true`)) {
			t.Errorf("approved %v: %s", approve, got)
		}
	}
}
