package app_test

import (
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/beeos/beeos/test/apptest"
)

// TestErrorsLeadToTheManual: whoever gets an error is told where the server says
// what its code means, whatever the protocol, and that is there.
func TestErrorsLeadToTheManual(t *testing.T) {
	app := apptest.Start(t, apptest.Config(t))
	link := regexp.MustCompile(`^<(` + regexp.QuoteMeta(app.Web) + `/help/reference/errors)#([a-z_]+)>; rel="help"$`)
	ask := func(method, url, key, body string) (*http.Response, string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		if key != "" {
			r.Header.Set("Authorization", "Bearer "+key)
		}
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res, string(text)
	}
	const hollow = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"nothing","arguments":{}}}`
	for _, tt := range []struct{ name, method, url, key, body, code string }{
		{"REST", "GET", app.REST + "/api/v1/agents/agent_x", app.UserKey, "", "agent_not_found"},
		{"REST without a key", "GET", app.REST + "/api/v1/agents", "", "", "missing_token"},
		{"MCP", "POST", app.MCP + "/" + app.AgentID + "/mcp", "", hollow, "missing_token"},
		{"MCP with a wrong agent", "POST", app.MCP + "/agent_x/mcp", app.UserKey, hollow, "agent_not_found"},
		{"A2A", "POST", app.A2A + "/agent_x", app.UserKey, `{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"x"}}`, "agent_not_found"},
		{"agent gateway", "POST", app.Agents + "/api/v1/agents/sync", "", "{}", "missing_token"},
	} {
		res, body := ask(tt.method, tt.url, tt.key, tt.body)
		found := link.FindStringSubmatch(res.Header.Get("Link"))
		if found == nil || found[2] != tt.code || strings.Contains(body, "/help/") {
			t.Errorf("%s: %s, Link %q, want one to %s; %s", tt.name, res.Status, res.Header.Values("Link"), tt.code, body)
			continue
		}
		if res, manual := ask("GET", found[1], "", ""); res.StatusCode != 200 || !strings.Contains(manual, `id="`+found[2]+`"`) {
			t.Errorf("%s: %s has nothing about %s: %s", tt.name, found[1], found[2], res.Status)
		}
	}
	if res, _ := ask("GET", app.REST+"/api/v1/agents", app.UserKey, ""); res.Header.Get("Link") != "" {
		t.Errorf("a good answer has a link to errors: %s", res.Header.Get("Link"))
	}
}
