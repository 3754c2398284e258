package switchboard

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestRoute has every path that a surface knows, those that look like another
// one's among them. Package app asks the surfaces themselves.
func TestRoute(t *testing.T) {
	const id = "/agent_vso6cgbpqibygx5t"
	for surface, paths := range map[string]string{
		Web: `/ // /live /agents /agents/new ` + "/agents" + id + ` /agents` + id + `/live /agents` + id + `/mcp /agents` + id + `/tasks /agents` + id + `/messages
			/approvals /approve /apps /keys /account /theme /users /invitations/x /audit /signin /signin/oidc /signin/oidc/return /signout /welcome
			/mcp-login /skills/authorized /skills/client.json /static/app.css /favicon.ico /marketplace /tasks /webhooks /conversations
			/help /help/mcp /llms.txt /mcp/x /agent /agents.json /oauthx /apis /.well-knownx/y /nothing`,
		MCP: `/mcp /mcp/ /oauth /oauth/authorize /oauth/return /oauth/register /oauth/token /oauth/revoke /oauth/jwks
			/.well-known/oauth-authorization-server /.well-known/oauth-protected-resource /.well-known/oauth-protected-resource/mcp
			/.well-known/oauth-protected-resource` + id + `/mcp /.well-known/openid-configuration ` + id + `/mcp/.well-known/openid-configuration
			/.well-known/jwks.json/x /.well-known /.well-known/security.txt /.well-known/agent.json/mcp ` + id + `/mcp ` + id + `/sse ` + id + `/messages ` + id + `/mcp/
			/.well-known/ai-catalog.json ` + id + `/mcp/server-card /v0.1/servers /v0.1/servers/com.example%2Fx/versions/latest`,
		A2A: `/.well-known/jwks.json /.well-known/agent-card.json /.well-known/agent.json ` + id + ` ` + id + `/ ` + id + `/.well-known/agent-card.json
			` + id + `/.well-known/agent.json ` + id + `/v1/invoke ` + id + `/v1/message:send ` + id + `/message:send ` + id + `/message:stream ` + id + `/tasks
			` + id + `/tasks/x:cancel ` + id + `/extendedAgentCard ` + id + `/card ` + id + `/mcp/x /` + id + `//tasks/`,
		REST: `/api/v1/agents /api/v1/agents` + id + ` /api/v1/agents` + id + `/invoke /api/v1/agents` + id + `/tasks /api/v1/agents/join/keys /api/v1/agents/files/x
			/api/v1/auth/login /api/v1/files/x /api/v1/calls /api /api/ /channels /channels/x/messages /files/file_1 /openapi.json /docs /api/v2/agents/join`,
		Agents: `/api/v1/agents/join /api/v1/agents/sync /api/v1/agents/connect /api/v1/agents/poll /api/v1/agents/frames /api/v1/agents/files
			/api/v1/agents/channels/ch_1/messages`,
	} {
		for path := range strings.FieldsSeq(paths) {
			if got := Route(path); got != surface {
				t.Errorf("%s goes to %s, want %s", path, got, surface)
			}
		}
	}
}

var all = []string{Web, MCP, A2A, REST, Agents}

func TestHosts(t *testing.T) {
	const main = "https://bee.example.com"
	urls := map[string]string{Web: "https://app.bee.example.com", MCP: "https://mcp.bee.example.com", A2A: main, REST: main, Agents: main}
	named := &Board{Hosts: map[string]string{"bee.example.com": "", "mcp.bee.example.com": MCP, "app.bee.example.com": Web}, URLs: urls, Runs: all}
	split := &Board{Hosts: map[string]string{"bee.example.com": ""}, URLs: map[string]string{}, Runs: []string{MCP, REST}}
	for _, tt := range []struct {
		board            *Board
		method, url      string
		surface          string // "" = the board answers
		status           int
		location, inBody string
	}{
		{named, "GET", "https://bee.example.com/api/v1/agents", REST, 0, "", ""},
		{named, "GET", "https://BEE.example.com.:443/api/v1/agents", REST, 0, "", ""},
		{named, "POST", "https://mcp.bee.example.com/mcp", MCP, 0, "", ""},
		{named, "GET", "https://mcp.bee.example.com/api/v1/agents", MCP, 0, "", ""},
		{named, "GET", "https://app.bee.example.com/agents", Web, 0, "", ""},
		{named, "GET", "https://bee.example.com/agents?a=b", "", 308, "https://app.bee.example.com/agents?a=b", ""},
		{named, "POST", "https://bee.example.com/signin", "", 421, "", "app.bee.example.com"},
		{named, "POST", "https://bee.example.com/mcp", "", 421, "", "mcp.bee.example.com"},
		{named, "GET", "https://evil.example/agents", "", 421, "", "app.bee.example.com"},
		{named, "GET", "https://10.0.0.7/api/v1/agents", "", 421, "", main},
		{named, "GET", "https://bee.example.com.evil.example/", "", 421, "", ""},
		{named, "GET", "https://10.0.0.7/healthz", "", 0, "", ""},
		{split, "POST", "https://bee.example.com/mcp", MCP, 0, "", ""},
		{split, "GET", "https://bee.example.com/", "", 404, "", "this process serves mcp, rest, and not web"},
		{split, "GET", "https://bee.example.com/api/v1/agents/connect", "", 404, "", "not agents"},
	} {
		r := httptest.NewRequest(tt.method, tt.url, nil)
		if got := tt.board.Pick(r); got != tt.surface {
			t.Errorf("%s %s goes to %q, want %q", tt.method, tt.url, got, tt.surface)
		}
		if tt.status == 0 {
			continue
		}
		w := httptest.NewRecorder()
		tt.board.ServeHTTP(w, r)
		if w.Code != tt.status || w.Header().Get("Location") != tt.location || !strings.Contains(w.Body.String(), tt.inBody) || strings.Contains(w.Body.String(), "evil") {
			t.Errorf("%s %s: %d %s %s", tt.method, tt.url, w.Code, w.Header().Get("Location"), w.Body)
		}
	}
}

// TestRedirectFollowsNoForeignHost: only names of ours are led on, and to
// themselves.
func TestRedirectFollowsNoForeignHost(t *testing.T) {
	b := &Board{Hosts: map[string]string{"bee.example.com": "", "mcp.bee.example.com": MCP}, URLs: map[string]string{Web: "https://bee.example.com", MCP: "https://mcp.bee.example.com"}}
	onPort := &Board{Hosts: b.Hosts, URLs: map[string]string{Web: "https://bee.example.com:8443"}}
	for _, tt := range []struct {
		board       *Board
		method, url string
		status      int
		location    string
	}{
		{b, "GET", "http://bee.example.com/agents?a=b", 308, "https://bee.example.com/agents?a=b"},
		{b, "POST", "http://bee.example.com:80/mcp", 308, "https://bee.example.com/mcp"},
		{b, "GET", "http://mcp.bee.example.com//evil.example/", 308, "https://mcp.bee.example.com//evil.example/"},
		{onPort, "GET", "http://bee.example.com/x", 308, "https://bee.example.com:8443/x"},
		{b, "GET", "http://evil.example/agents", 421, ""},
		{b, "GET", "http://10.0.0.7/", 421, ""},
	} {
		w := httptest.NewRecorder()
		tt.board.Redirect(w, httptest.NewRequest(tt.method, tt.url, nil))
		if w.Code != tt.status || w.Header().Get("Location") != tt.location {
			t.Errorf("%s %s: %d %s", tt.method, tt.url, w.Code, w.Header().Get("Location"))
		}
	}
	w, connect := httptest.NewRecorder(), httptest.NewRequest(http.MethodConnect, "http://bee.example.com/", nil)
	connect.Host, connect.URL.Path, connect.URL.Opaque = "bee.example.com", "", ".evil.example:443"
	b.Redirect(w, connect)
	if got := w.Header().Get("Location"); got != "https://bee.example.com/" {
		t.Errorf("CONNECT leads to %s", got)
	}
}
