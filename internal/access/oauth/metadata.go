package oauth

import (
	"net/http"
	"strings"

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
	resource, agentID, ok := s.target(s.issuer + strings.TrimPrefix(before+suffix, s.path()))
	switch {
	case !ok || before != "" && suffix != "":
		fail(w, r, http.StatusNotFound, "not_found", "nothing is here; the metadata is at "+s.issuer+wellKnown+serverDoc)
	case doc == serverDoc || doc == openidDoc:
		w.Header().Set("Cache-Control", metadataKept)
		httpd.WriteJSON(w, http.StatusOK, s.serverMetadata(doc == openidDoc))
	case doc == resourceDoc && before == "":
		m := resourceMetadata{Resource: resource, Servers: []string{s.issuer}, Methods: []string{"header"}, Name: "BeeOS"}
		if agentID != "" {
			m.Scopes = []string{agentScope + agentID}
		}
		w.Header().Set("Cache-Control", metadataKept)
		httpd.WriteJSON(w, http.StatusOK, m)
	default:
		fail(w, r, http.StatusNotFound, "not_found", "nothing is here; the metadata is at "+s.issuer+wellKnown+serverDoc)
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

// agentScope before an agent's id is the scope that reaches it; allScope
// reaches all of a person's.
const (
	agentScope = "agent:"
	allScope   = "agents"
)

// target reads a resource: an agent's endpoint, that of all agents, or the
// gateway as a whole, which none also means.
func (s *Server) target(resource string) (canonical, agentID string, ok bool) {
	rest, ok := strings.CutPrefix(resource, s.issuer)
	if resource == "" || ok && (rest == "" || rest == "/") {
		return s.issuer, "", true
	}
	if rest == "/mcp" && ok {
		return resource, "", true
	}
	id, found := strings.CutSuffix(rest, "/mcp")
	if !ok || !found || len(id) < 2 || id[0] != '/' || !plainID(id[1:]) {
		return "", "", false
	}
	return resource, id[1:], true
}

// plainID reports whether s can be an agent's id.
func plainID(s string) bool {
	return s != "" && len(s) <= 64 && !strings.ContainsFunc(s, func(c rune) bool {
		return c != '_' && c != '-' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z')
	})
}
