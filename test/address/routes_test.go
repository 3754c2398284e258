//go:build unix

package address

import (
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/beeos/beeos/test/apptest"
)

// varies is what two answers to the same question may differ in.
var varies = regexp.MustCompile(`"request_id":"[^"]*"|nonce-[^']*|http://localhost:\d+|csrf[^>]*|took[^<]*`)

// answer is what a server says to a request without a credential.
func answer(t *testing.T, method, address string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	kinds := res.Header.Get("Content-Type") + " " + res.Header.Get("Content-Security-Policy") + " " + res.Header.Get("Www-Authenticate") + " " + res.Header.Get("Location")
	return varies.ReplaceAllString(res.Status+" "+kinds+"\n"+string(body), "")
}

// TestOneAddressAnswersAsTheSurfaceDoes asks for all that a surface knows at its
// own port and at the one address: REST by what it says about itself, the others by
// the tables in their code.
func TestOneAddressAnswersAsTheSurfaceDoes(t *testing.T) {
	dev := apptest.Start(t, apptest.Config(t))
	id := "/" + dev.AgentID
	known := map[string][]string{
		dev.Web: {
			"GET /", "GET /live", "GET /agents", "POST /agents", "GET /agents/new", "GET /agents" + id, "GET /agents" + id + "/live", "GET /agents" + id + "/mcp", "GET /agents" + id + "/tasks",
			"GET /approvals", "POST /approvals/x/approve", "GET /approve", "GET /apps", "GET /keys", "GET /account", "POST /theme", "GET /users", "POST /invitations/x/withdraw",
			"GET /audit", "GET /signin", "GET /signin/oidc", "GET /signin/oidc/return", "POST /signout", "GET /welcome", "GET /mcp-login", "GET /skills/authorized", "GET /skills/client.json",
			"GET /static/nothing", "GET /favicon.ico", "GET /marketplace", "GET /tasks", "GET /webhooks", "GET /conversations", "GET /nothing", "GET /help", "GET /llms.txt",
		},
		dev.MCP: {
			"GET /mcp", "POST /mcp", "DELETE /mcp", "OPTIONS /mcp", "POST " + id + "/mcp", "GET " + id + "/sse", "POST " + id + "/messages", "GET /oauth/authorize", "GET /oauth/return", "POST /oauth/register",
			"POST /oauth/token", "POST /oauth/revoke", "GET /oauth/jwks", "GET /oauth/nothing", "GET /.well-known/oauth-authorization-server", "GET /.well-known/oauth-protected-resource",
			"GET /.well-known/oauth-protected-resource/mcp", "GET /.well-known/oauth-protected-resource" + id + "/mcp", "GET /.well-known/openid-configuration", "GET " + id + "/mcp/.well-known/openid-configuration",
			"GET /.well-known/ai-catalog.json", "GET " + id + "/mcp/server-card", "GET /v0.1/servers", "GET /v0.1/servers/x%2Fy/versions/latest",
		},
		dev.A2A: {
			"GET /.well-known/jwks.json", "GET /.well-known/agent-card.json", "GET /.well-known/agent-card.json?id=" + dev.AgentID, "GET /.well-known/agent.json", "POST " + id, "POST " + id + "/", "GET " + id,
			"GET " + id + "/.well-known/agent-card.json", "GET " + id + "/.well-known/agent.json", "POST " + id + "/v1/invoke", "POST " + id + "/v1/message:send", "POST " + id + "/message:send",
			"POST " + id + "/message:stream", "GET " + id + "/tasks", "GET " + id + "/tasks/x", "POST " + id + "/tasks/x:cancel", "GET " + id + "/extendedAgentCard", "GET " + id + "/card",
		},
		dev.Agents: {
			"POST /api/v1/agents/join", "POST /api/v1/agents/sync", "GET /api/v1/agents/connect", "GET /api/v1/agents/poll", "POST /api/v1/agents/frames", "POST /api/v1/agents/files",
			"GET /api/v1/agents/channels/x/messages", "GET /api/v1/agents/join",
		},
		dev.REST: {"GET /docs", "GET /files/file_1", "GET /openapi.json", "GET /channels/x/messages", "GET /api/v1/nothing", "GET /api/v2"},
	}
	var described struct{ Paths map[string]map[string]any }
	if err := json.Unmarshal(tour{t: t}.ask(t, "GET", dev.REST+"/openapi.json", "", nil, nil), &described); err != nil {
		t.Fatal(err)
	}
	for path, methods := range described.Paths {
		path = regexp.MustCompile(`\{[^}]*\}`).ReplaceAllString(path, dev.AgentID)
		for method := range methods {
			known[dev.REST] = append(known[dev.REST], strings.ToUpper(method)+" "+path)
		}
	}
	if n := len(known[dev.REST]); n < 60 {
		t.Errorf("REST describes %d routes", n)
	}
	for surface, routes := range known {
		for _, route := range routes {
			method, path, _ := strings.Cut(route, " ")
			if own, shared := answer(t, method, surface+path), answer(t, method, dev.Web+path); own != shared {
				t.Errorf("%s is answered differently:\n%.300s\n---\n%.300s", route, own, shared)
			}
		}
	}
}
