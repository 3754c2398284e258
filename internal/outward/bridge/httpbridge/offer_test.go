package httpbridge_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/beeos/beeos/agent"
	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/internal/outward/bridge/httpbridge"
	"github.com/beeos/beeos/internal/outward/bridge/settings"
	"github.com/beeos/beeos/test/apptest"
	"github.com/beeos/beeos/test/bridgetest"
)

// TestEndpointDeclaresToolsAndAttachesFiles: what an endpoint answers to a GET
// is what it offers; its answers may carry files, but no paths of this machine.
func TestEndpointDeclaresToolsAndAttachesFiles(t *testing.T) {
	app := apptest.Start(t, apptest.Config(t))
	endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.Method == http.MethodGet {
			fmt.Fprint(w, `{"description":"Keeps the books.","tools":[{"name":"report","inputSchema":{"type":"object"}}]}`)
			return
		}
		var m struct{ Tool string }
		if err := json.NewDecoder(r.Body).Decode(&m); err != nil {
			t.Error(err)
		}
		if m.Tool == "report" {
			fmt.Fprint(w, `{"reply":"written","attach":[{"name":"report.csv","content_type":"text/csv","data":"YSxiCg=="}]}`)
			return
		}
		fmt.Fprint(w, `{"reply":"never","attach":[{"path":"/etc/hostname"}]}`)
	}))
	t.Cleanup(endpoint.Close)
	id := bridgetest.Connect(t, app, &bridgetest.Journal{}, "clerk", func(ctx context.Context, o agent.Options) error {
		return (&httpbridge.Options{URL: endpoint.URL}).Run(ctx, settings.Bridge{Agent: o})
	})
	c := client.New(app.REST, app.UserKey)
	a := bridgetest.AwaitTool(t, c, id, "report")
	if a.Description != "Keeps the books." {
		t.Errorf("it is %+v", a)
	}
	got, err := c.CallTool(t.Context(), a, "report", json.RawMessage(`{}`))
	if err != nil || got.IsError || !strings.Contains(got.Text(), "written") {
		t.Fatalf("%+v, %v", got, err)
	}
	if whole, _ := json.Marshal(got); !strings.Contains(string(whole), "report.csv") {
		t.Errorf("the answer has no file: %s", whole)
	}
	if got, err := c.Invoke(t.Context(), id, client.InvokeRequest{Message: "other"}); err != nil || !got.IsError || !strings.Contains(got.Text, "an endpoint cannot name a path") {
		t.Errorf("a path of this machine: %+v, %v", got, err)
	}
}
