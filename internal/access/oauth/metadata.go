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
type serverMetadata struct {
	Issuer        string   `json:"issuer"`
	Authorization string   `json:"authorization_endpoint"`
	Token         string   `json:"token_endpoint"`
	Registration  string   `json:"registration_endpoint"`
	Revocation    string   `json:"revocation_endpoint"`
	Responses     []string `json:"response_types_supported"`
	Modes         []string `json:"response_modes_supported"`
	Grants        []string `json:"grant_types_supported"`
	Challenges    []string `json:"code_challenge_methods_supported"`
	TokenAuth     []string `json:"token_endpoint_auth_methods_supported"`
	RevokeAuth    []string `json:"revocation_endpoint_auth_methods_supported"`
	Iss           bool     `json:"authorization_response_iss_parameter_supported"`
	Documents     bool     `json:"client_id_metadata_document_supported"`

	// Clients that look for an OpenID provider insist on these. There are no
	// ID tokens, and the key that signs access tokens is nobody else's.
	JWKS       string   `json:"jwks_uri,omitempty"`
	Subjects   []string `json:"subject_types_supported,omitempty"`
	Signatures []string `json:"id_token_signing_alg_values_supported,omitempty"`
}

func (s *Server) serverMetadata(openid bool) serverMetadata {
	m := serverMetadata{
		Issuer:        s.issuer,
		Authorization: s.issuer + "/oauth/authorize",
		Token:         s.issuer + "/oauth/token",
		Registration:  s.issuer + "/oauth/register",
		Revocation:    s.issuer + "/oauth/revoke",
		Responses:     []string{"code"},
		Modes:         []string{"query"},
		Grants:        []string{"authorization_code", "refresh_token"},
		Challenges:    []string{"S256"},
		TokenAuth:     []string{"none"},
		RevokeAuth:    []string{"none"},
		Iss:           true,
		Documents:     true,
	}
	if openid {
		m.JWKS, m.Subjects, m.Signatures = s.issuer+jwksPath, []string{"public"}, []string{"HS256"}
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

// metadata answers all the forms in which clients ask: at the root, with the
// resource's path after the name, and with the name after the path. An agent
// need not exist: who may know that it does is not known here.
func (s *Server) metadata(w http.ResponseWriter, r *http.Request) {
	before, after, _ := strings.Cut(r.URL.Path, wellKnown)
	doc, suffix, _ := strings.Cut(after, "/")
	if suffix != "" {
		suffix = "/" + suffix
	}
	resource, agentID, ok := protocol.ParseResource(s.issuer, s.issuer+strings.TrimPrefix(before+suffix, s.path()))
	switch {
	case !ok || before != "" && suffix != "":
		protocol.Fail(w, http.StatusNotFound, "not_found", "nothing is here; the metadata is at "+s.issuer+wellKnown+serverDoc)
	case doc == serverDoc || doc == openidDoc:
		w.Header().Set("Cache-Control", metadataKept)
		httpd.WriteJSON(w, http.StatusOK, s.serverMetadata(doc == openidDoc))
	case doc == resourceDoc && before == "":
		m := resourceMetadata{Resource: resource, Servers: []string{s.issuer}, Methods: []string{"header"}, Name: "BeeOS"}
		if agentID != "" {
			m.Scopes = []string{protocol.AgentScope + agentID}
		}
		w.Header().Set("Cache-Control", metadataKept)
		httpd.WriteJSON(w, http.StatusOK, m)
	default:
		protocol.Fail(w, http.StatusNotFound, "not_found", "nothing is here; the metadata is at "+s.issuer+wellKnown+serverDoc)
	}
}

func (s *Server) jwks(w http.ResponseWriter, r *http.Request) {
	httpd.WriteJSON(w, http.StatusOK, map[string][]string{"keys": {}})
}

// path is that of the issuer, which has one behind some proxies.
func (s *Server) path() string {
	_, rest, _ := strings.Cut(s.issuer, "://")
	if i := strings.IndexByte(rest, '/'); i >= 0 {
		return rest[i:]
	}
	return ""
}

// Challenge is what tells a client that was refused where to learn how to get
// a token (RFC 6750, RFC 9728), and which scope it needs. Forbidden means that
// the token is good, and the agent not among those that were granted.
func (s *Server) Challenge(agentID string, err error) string {
	var b strings.Builder
	b.WriteString(`Bearer realm="MCP", resource_metadata="` + s.issuer + wellKnown + resourceDoc)
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
