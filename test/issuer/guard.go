package issuer

import (
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/golang-jwt/jwt/v5"
)

// Guard lets requests through to Next that bring a token of Issuer's for URL
// with Scope, and tells all others where to get one.
type Guard struct {
	Issuer *Server
	URL    string // of the guarded server, with its path
	Scope  string
	Next   http.Handler

	// Challenge, Resource and Servers replace what it says about itself.
	Challenge string
	Resource  string
	Servers   []string

	mu     sync.Mutex
	Seen   []http.Header // of all requests
	Claims []jwt.MapClaims
}

const metadataPath = "/.well-known/oauth-protected-resource"

func (g *Guard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, metadataPath) {
		resource, servers := g.URL, g.Servers
		if g.Resource != "" {
			resource = g.Resource
		}
		if servers == nil {
			servers = []string{g.Issuer.URL}
		}
		answer(w, http.StatusOK, map[string]any{"resource": resource, "authorization_servers": servers, "scopes_supported": []string{"files:read"}})
		return
	}
	g.mu.Lock()
	g.Seen = append(g.Seen, r.Header.Clone())
	g.mu.Unlock()
	text, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok {
		g.refuse(w, http.StatusUnauthorized, "")
		return
	}
	claims := jwt.MapClaims{}
	_, err := jwt.ParseWithClaims(text, claims, func(*jwt.Token) (any, error) { return g.Issuer.key.Public(), nil },
		jwt.WithValidMethods([]string{"RS256"}), jwt.WithIssuer(g.Issuer.URL), jwt.WithAudience(g.URL), jwt.WithExpirationRequired())
	if err != nil {
		g.refuse(w, http.StatusUnauthorized, "invalid_token")
		return
	}
	g.mu.Lock()
	g.Claims = append(g.Claims, claims)
	need := g.Scope
	g.mu.Unlock()
	scopes, _ := claims["scope"].(string)
	if need != "" && !slices.Contains(strings.Fields(scopes), need) {
		g.refuse(w, http.StatusForbidden, "insufficient_scope")
		return
	}
	g.Next.ServeHTTP(w, r)
}

func (g *Guard) refuse(w http.ResponseWriter, status int, fault string) {
	g.mu.Lock()
	need, challenge := g.Scope, g.Challenge
	g.mu.Unlock()
	if challenge == "" {
		origin, path := split(g.URL)
		challenge = `Bearer resource_metadata="` + origin + metadataPath + path + `"`
		if fault != "" {
			challenge += `, error="` + fault + `"`
		}
		if need != "" && status == http.StatusForbidden {
			challenge += `, scope="` + need + `"`
		}
	}
	w.Header().Set("WWW-Authenticate", challenge)
	http.Error(w, "not like this", status)
}

// Need changes the scope that requests need from now on.
func (g *Guard) Need(scope string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.Scope = scope
}

// Headers returns those of all requests so far.
func (g *Guard) Headers() []http.Header {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.Seen)
}

// Accepted returns the claims of all tokens that were good.
func (g *Guard) Accepted() []jwt.MapClaims {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.Claims)
}

func split(address string) (origin, path string) {
	i := strings.Index(address[len("https://"):], "/")
	if i < 0 {
		return address, ""
	}
	i += len("https://")
	return address[:i], address[i:]
}
