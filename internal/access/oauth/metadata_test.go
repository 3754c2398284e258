package oauth

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMetadataInEveryForm(t *testing.T) {
	r := newRig(t)
	agent := "/" + r.agents["a"] + "/mcp"
	read := func(path string) (int, map[string]any) {
		t.Helper()
		w := get(r.s, path)
		var doc map[string]any
		if err := json.Unmarshal(w.Body.Bytes(), &doc); err != nil || w.Header().Get("Content-Type") != "application/json" {
			t.Errorf("%s is no JSON: %s", path, w.Body)
		}
		return w.Code, doc
	}
	_, want := read("/.well-known/oauth-authorization-server")
	for name, value := range map[string]any{
		"issuer": issuer, "authorization_endpoint": issuer + "/oauth/authorize", "token_endpoint": issuer + "/oauth/token",
		"registration_endpoint": issuer + "/oauth/register", "revocation_endpoint": issuer + "/oauth/revoke",
		"response_types_supported": []any{"code"}, "code_challenge_methods_supported": []any{"S256"}, "token_endpoint_auth_methods_supported": []any{"none", "client_secret_basic", "client_secret_post"},
		"grant_types_supported":                          []any{"authorization_code", "refresh_token", "client_credentials"},
		"authorization_response_iss_parameter_supported": true, "client_id_metadata_document_supported": true,
	} {
		if diff := cmp.Diff(value, want[name]); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	for _, path := range []string{"/.well-known/oauth-authorization-server/mcp", "/.well-known/oauth-authorization-server" + agent, agent + "/.well-known/oauth-authorization-server"} {
		if status, doc := read(path); status != 200 || cmp.Diff(want, doc) != "" {
			t.Errorf("%s: %d %v", path, status, doc)
		}
	}
	for _, path := range []string{"/.well-known/openid-configuration", "/.well-known/openid-configuration" + agent, agent + "/.well-known/openid-configuration", "/mcp/.well-known/openid-configuration"} {
		if status, doc := read(path); status != 200 || doc["issuer"] != issuer || doc["jwks_uri"] == nil || doc["subject_types_supported"] == nil {
			t.Errorf("%s: %d %v", path, status, doc)
		}
	}
	for path, resource := range map[string]string{
		"/.well-known/oauth-protected-resource": issuer, "/.well-known/oauth-protected-resource/": issuer, "/.well-known/oauth-protected-resource/mcp": issuer + "/mcp",
		"/.well-known/oauth-protected-resource" + agent: issuer + agent, "/.well-known/oauth-protected-resource/nosuch/mcp": issuer + "/nosuch/mcp",
	} {
		status, doc := read(path)
		if status != 200 || doc["resource"] != resource || !cmp.Equal(doc["authorization_servers"], []any{issuer}) {
			t.Errorf("%s: %d %v", path, status, doc)
		}
	}
	for _, path := range []string{
		"/.well-known/oauth-authorization-server/x", "/.well-known/nothing", "/.well-known/", "/.well-known/oauth-protected-resource/x/y/mcp", "/.well-known/oauth-protected-resource/a%20b/mcp",
		"/.well-known/oauth-protected-resource/../mcp/x", "/oauth/nothing", "/oauth/", "/x/.well-known/openid-configuration", agent + "/.well-known/oauth-protected-resource", agent + "/.well-known/openid-configuration" + agent,
	} {
		if status, doc := read(path); status != 404 || doc["error"] == nil {
			t.Errorf("%s: %d %v", path, status, doc)
		}
	}
}

func TestHostIsNotBelieved(t *testing.T) {
	r := newRig(t)
	for _, path := range []string{"/.well-known/oauth-authorization-server", "/.well-known/oauth-protected-resource/x/mcp", "/oauth/authorize?" + r.query().Encode(), "/oauth/authorize?" + r.query("response_type", "x").Encode()} {
		want := get(r.s, path)
		q := httptest.NewRequest(http.MethodGet, path, nil)
		q.Host = "evil.example"
		for _, name := range []string{"X-Forwarded-Host", "X-Forwarded-Proto", "Forwarded", "X-Original-URL", "Origin", "Referer"} {
			q.Header.Set(name, "evil.example")
		}
		w := httptest.NewRecorder()
		r.s.ServeHTTP(w, q)
		if w.Code != want.Code || w.Body.String() != want.Body.String() || strings.Contains(w.Header().Get("Location")+w.Body.String(), "evil") {
			t.Errorf("%s: %d %s %s", path, w.Code, w.Header().Get("Location"), w.Body)
		}
	}
}

func TestMethods(t *testing.T) {
	r := newRig(t)
	for path, method := range map[string]string{"/oauth/authorize": "POST", "/oauth/return": "POST", "/oauth/token": "GET", "/oauth/register": "GET", "/oauth/revoke": "PUT", "/.well-known/oauth-authorization-server": "POST"} {
		w := httptest.NewRecorder()
		r.s.ServeHTTP(w, httptest.NewRequest(method, path, nil))
		if w.Code != http.StatusMethodNotAllowed || w.Header().Get("Allow") == "" || w.Header().Get("Content-Type") != "application/json" {
			t.Errorf("%s %s: %d", method, path, w.Code)
		}
		w = httptest.NewRecorder()
		r.s.ServeHTTP(w, httptest.NewRequest(http.MethodOptions, path, nil))
		if w.Code != http.StatusNoContent {
			t.Errorf("OPTIONS %s: %d", path, w.Code)
		}
	}
}

// TestIssuerWithAPath: behind a proxy that serves other things, too.
func TestIssuerWithAPath(t *testing.T) {
	r := newRig(t)
	s, err := New(t.Context(), Options{Grants: r.db.Grants, Keys: r.db.Keys, Agents: r.db.Agents, Trail: r.db.Audit, Cluster: r.db.Cluster, Issuer: "https://example.com/beeos/"})
	r.must(err)
	for _, path := range []string{"/.well-known/oauth-protected-resource/beeos/x/mcp", "/.well-known/oauth-protected-resource/x/mcp"} {
		if w := get(s, path); !strings.Contains(w.Body.String(), `"resource":"https://example.com/beeos/x/mcp"`) {
			t.Errorf("%s: %s", path, w.Body)
		}
	}
	if w := get(s, "/.well-known/oauth-authorization-server/beeos"); w.Code != http.StatusOK {
		t.Error(w.Code)
	}
}
