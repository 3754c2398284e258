package check

import (
	"encoding/json"
	"net/http/httptest"
	"testing"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/client"
)

// TestRefusalsAreTold: only a refusal with the right code is one.
func TestRefusalsAreTold(t *testing.T) {
	gone := httptest.NewServer(nil)
	gone.Close()
	_, unreachable := client.New(gone.URL, "key").CallTool(t.Context(), &client.Agent{MCPURL: gone.URL}, "add", json.RawMessage("{}"))
	if unreachable == nil {
		t.Fatal("a server that is gone has answered")
	}
	for name, tt := range map[string]struct {
		result *client.ToolResult
		err    error
		fine   bool
	}{
		"refused":          {err: beeos.Errorf(beeos.InvalidParam, "no"), fine: true},
		"another refusal":  {err: beeos.Errorf(beeos.NotFound, "no")},
		"no server":        {err: unreachable},
		"answered":         {result: &client.ToolResult{}},
		"a failed result":  {result: &client.ToolResult{IsError: true}},
		"nobody is online": {err: beeos.Errorf(beeos.AgentOffline, "no")},
	} {
		if err := wantRefusal(beeos.InvalidParam, tt.result, tt.err); (err == nil) != tt.fine {
			t.Errorf("%s: %v", name, err)
		}
	}
}
