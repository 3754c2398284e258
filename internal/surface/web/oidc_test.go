package web

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/beeos/beeos/internal/access/signin"
)

// provider is an OpenID provider that says of everybody what claims say.
func provider(t *testing.T, claims jwt.MapClaims) string {
	t.Helper()
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	answer := func(w http.ResponseWriter, v any) {
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(v); err != nil {
			t.Error(err)
		}
	}
	nonce := ""
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	mux.HandleFunc("GET /.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, map[string]any{
			"issuer": server.URL, "authorization_endpoint": server.URL + "/authorize", "token_endpoint": server.URL + "/token", "jwks_uri": server.URL + "/keys",
		})
	})
	mux.HandleFunc("GET /keys", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, map[string]any{"keys": []any{map[string]any{"kty": "OKP", "crv": "Ed25519", "alg": "EdDSA", "use": "sig", "kid": "k", "x": base64.RawURLEncoding.EncodeToString(public)}}})
	})
	mux.HandleFunc("GET /authorize", func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		nonce = q.Get("nonce")
		http.Redirect(w, r, q.Get("redirect_uri")+"?"+url.Values{"code": {"c"}, "state": {q.Get("state")}}.Encode(), http.StatusFound)
	})
	mux.HandleFunc("POST /token", func(w http.ResponseWriter, _ *http.Request) {
		c := jwt.MapClaims{"iss": server.URL, "aud": "beeos", "sub": "s1", "nonce": nonce, "iat": time.Now().Unix(), "exp": time.Now().Add(time.Minute).Unix()}
		for name, value := range claims {
			c[name] = value
		}
		token := jwt.NewWithClaims(jwt.SigningMethodEdDSA, c)
		token.Header["kid"] = "k"
		signed, err := token.SignedString(private)
		if err != nil {
			t.Error(err)
		}
		answer(w, map[string]any{"id_token": signed, "access_token": "a", "token_type": "Bearer"})
	})
	return server.URL
}

// Somebody whom the provider knows by a verified address of ours comes in and
// goes on to where they wanted; a stranger is told what to do.
func TestSignInThroughAProvider(t *testing.T) {
	for _, tt := range []struct {
		name   string
		email  string
		status int
	}{
		{"known", "ann@example.com", http.StatusSeeOther},
		{"stranger", "eve@example.com", http.StatusForbidden},
	} {
		t.Run(tt.name, func(t *testing.T) {
			k := newStack(t)
			k.user("Ann", false)
			k.trust(signin.OIDCOptions{
				Issuer: provider(t, jwt.MapClaims{"email": tt.email, "email_verified": true}), ClientID: "beeos", RedirectURL: k.web + "/signin/oidc/return",
			})
			b := k.browser()
			start := b.get("/signin/oidc?next=" + url.QueryEscape("/keys"))
			if start.status != http.StatusSeeOther {
				t.Fatalf("%d %s", start.status, start.body)
			}
			back := b.get(start.location()).location()
			if res := k.browser().get(back); res.status != http.StatusForbidden {
				t.Errorf("in another browser: %d", res.status)
			}
			res := b.get(back)
			if res.status != tt.status {
				t.Fatalf("%d %s", res.status, res.body)
			}
			if tt.status != http.StatusSeeOther {
				if !strings.Contains(res.body, `role="alert"`) || b.get("/keys").status != http.StatusSeeOther {
					t.Errorf("a stranger got %s", res.body)
				}
				return
			}
			if res.location() != "/keys" || b.get("/keys").status != http.StatusOK {
				t.Errorf("led to %q", res.location())
			}
			if res := b.get(back); res.status != http.StatusForbidden {
				t.Errorf("the way back works twice: %d", res.status)
			}
		})
	}
}
