package app_test

import (
	"crypto/ed25519"
	"encoding/base64"
	"net/http"
	"strings"
	"testing"

	"github.com/beeos/beeos/internal/access/signin"
	"github.com/beeos/beeos/internal/store"
	"github.com/beeos/beeos/internal/store/people"
	"github.com/beeos/beeos/test/apptest"
	"github.com/beeos/beeos/test/pgtest"
)

// TestReadsWithoutDatabase: while PostgreSQL is down, every surface says that
// it is worth another try, and when; nothing looks like a fault of ours.
func TestReadsWithoutDatabase(t *testing.T) {
	database, err := pgtest.Start()
	if err != nil {
		t.Fatal(err)
	}
	defer database.Stop()
	cfg := apptest.Config(t)
	cfg.DatabaseURL = database.URL(t)
	a := apptest.Start(t, cfg)
	user, err := accept(t, cfg, a.Setup)
	if err != nil {
		t.Fatal(err)
	}
	db, err := store.Open(t.Context(), cfg.DatabaseURL)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	cookie, err := (&signin.People{Table: db.People, Audit: db.Audit}).BeginSession(t.Context(), user, people.Login{})
	if err != nil {
		t.Fatal(err)
	}
	public, _, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	database.Stop()

	for _, c := range []struct{ name, method, url, body, key string }{
		{"rest agents", "GET", a.REST + "/api/v1/agents", "", a.UserKey},
		{"rest agent", "GET", a.REST + "/api/v1/agents/" + a.AgentID, "", a.UserKey},
		{"rest approvals", "GET", a.REST + "/api/v1/approvals", "", a.UserKey},
		{"rest, a key never seen", "GET", a.REST + "/api/v1/agents", "", "oag_" + strings.Repeat("1", 64)},
		{"mcp, a key never seen", "POST", a.MCPEndpoint(), `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, "oag_" + strings.Repeat("2", 64)},
		{"mcp union", "POST", a.MCP + "/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, a.UserKey},
		{"a2a, a key never seen", "POST", a.A2A + "/" + a.AgentID, `{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"task_1"}}`, "oag_" + strings.Repeat("3", 64)},
		{"a2a task", "POST", a.A2A + "/" + a.AgentID, `{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"01a1e1a1-095a-7229-a2dd-630e7b878080"}}`, a.UserKey},
		{"agents, a key never seen", "POST", a.Agents + "/api/v1/agents/join", `{"public_key":"` + base64.StdEncoding.EncodeToString(public) + `"}`, "oag_" + strings.Repeat("4", 64)},
		{"oauth client", "POST", a.MCP + "/oauth/register", `{"client_name":"x","redirect_uris":["http://127.0.0.1:1/cb"]}`, a.UserKey},
		{"console home", "GET", a.Web + "/", "", ""},
		{"console agents", "GET", a.Web + "/agents", "", ""},
	} {
		req, err := http.NewRequestWithContext(t.Context(), c.method, c.url, strings.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		if c.key != "" {
			req.Header.Set("Authorization", "Bearer "+c.key)
		} else {
			req.Header.Set("Cookie", "__Host-beeos="+cookie)
		}
		resp, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusServiceUnavailable || resp.Header.Get("Retry-After") == "" {
			t.Errorf("%s: %s, Retry-After %q", c.name, resp.Status, resp.Header.Get("Retry-After"))
		}
	}
}
