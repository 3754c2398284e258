package oauth

import (
	"net/http"
	"strings"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/access/oauth/protocol"
	"github.com/beeos/beeos/internal/wire/httpd"
)

const (
	wellKnown    = "/.well-known/"
	serverDoc    = "oauth-authorization-server"
	openidDoc    = "openid-configuration"
	resourceDoc  = "oauth-protected-resource"
	jwksPath     = "/oauth/jwks"
	metadataKept = "public, max-age=3600"
)

// serverMetadata is RFC 8414. Nothing in it depends on the request.
func (s *Server) serverMetadata(openid bool) map[string]any {
	m := map[string]any{
		"issuer":                                         s.Issuer,
		"authorization_endpoint":                         s.Issuer + "/oauth/authorize",
		"token_endpoint":                                 s.Issuer + "/oauth/token",
		"registration_endpoint":                          s.Issuer + "/oauth/register",
		"revocation_endpoint":                            s.Issuer + "/oauth/revoke",
		"response_types_supported":                       []string{"code"},
		"response_modes_supported":                       []string{"query"},
		"grant_types_supported":                          []string{"authorization_code", "refresh_token", "client_credentials"},
		"code_challenge_methods_supported":               []string{"S256"},
		"token_endpoint_auth_methods_supported":          []string{"none", "client_secret_basic", "client_secret_post"},
		"revocation_endpoint_auth_methods_supported":     []string{"none"},
		"authorization_response_iss_parameter_supported": true,
		"client_id_metadata_document_supported":          true,
	}
	if openid {
		// Clients that look for an OpenID provider insist on these. There are no
		// ID tokens, and the key that signs access tokens is nobody else's.
		m["jwks_uri"] = s.Issuer + jwksPath
		m["subject_types_supported"] = []string{"public"}
		m["id_token_signing_alg_values_supported"] = []string{"HS256"}
	}
	return m
}

// resourceMetadata is RFC 9728.
type resourceMetadata struct {
	Resource string   `json:"resource"`
	Servers  []string `json:"authorization_servers"`
	Methods  []string `json:"bearer_methods_supported"`
	Scopes   []string `json:"scopes_supported,omitempty"`
	Name     string   `json:"resource_name"`
}

// serveMetadata answers all the forms in which clients ask: at the root, with
// the resource's path after the name, and with the name after the path. An
// agent need not exist: who may know that it does is not known here.
func (s *Server) serveMetadata(w http.ResponseWriter, r *http.Request) {
	before, after, _ := strings.Cut(r.URL.Path, wellKnown)
	doc, suffix, _ := strings.Cut(after, "/")
	if suffix != "" {
		suffix = "/" + suffix
	}
	resource, agentID, ok := protocol.ParseResource(s.Issuer, s.Issuer+strings.TrimPrefix(before+suffix, s.path()))
	var m any
	switch {
	case !ok || before != "" && suffix != "":
	case doc == serverDoc || doc == openidDoc:
		m = s.serverMetadata(doc == openidDoc)
	case doc == resourceDoc && before == "":
		// The resource is named as the client has reached it (RFC 9728, 3.3).
		named := httpd.Base(r, s.Issuer) + strings.TrimPrefix(resource, s.Issuer)
		about := resourceMetadata{Resource: named, Servers: []string{s.Issuer}, Methods: []string{"header"}, Name: "BeeOS"}
		if agentID != "" {
			about.Scopes = []string{protocol.AgentScope + agentID}
		}
		m = about
	}
	if m == nil {
		protocol.Fail(w, http.StatusNotFound, "not_found", "nothing is here; the metadata is at "+s.Issuer+wellKnown+serverDoc)
		return
	}
	w.Header().Set("Cache-Control", metadataKept)
	httpd.WriteJSON(w, http.StatusOK, m)
}

func (s *Server) serveKeys(w http.ResponseWriter, r *http.Request) {
	httpd.WriteJSON(w, http.StatusOK, map[string][]string{"keys": {}})
}

// path is that of the issuer, which has one behind some proxies.
func (s *Server) path() string {
	_, rest, _ := strings.Cut(s.Issuer, "://")
	if i := strings.IndexByte(rest, '/'); i >= 0 {
		return rest[i:]
	}
	return ""
}

// Challenge is what tells a client that was refused where to learn how to get
// a token (RFC 6750, RFC 9728), and which scope it needs. Forbidden means that
// the token is good, and the agent not among those that were granted.
func (s *Server) Challenge(r *http.Request, agentID string, err error) string {
	var b strings.Builder
	b.WriteString(`Bearer realm="MCP", resource_metadata="` + httpd.Base(r, s.Issuer) + wellKnown + resourceDoc)
	if agentID != "" {
		b.WriteString("/" + agentID)
	}
	b.WriteString(`/mcp"`)
	switch beeos.CodeOf(err) {
	case beeos.MissingToken:
	case beeos.Forbidden:
		b.WriteString(`, error="insufficient_scope"`)
	default:
		b.WriteString(`, error="invalid_token"`)
	}
	if agentID != "" {
		b.WriteString(`, scope="` + protocol.AgentScope + agentID + `"`)
	}
	return b.String()
}
