// Package openid is a small OpenID provider for tests: discovery,
// authorization, token with PKCE, userinfo and a key set. It lets everybody in
// without a page of its own, and says of them what a test wants to hear.
package openid

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync/atomic"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// ClientID and Secret are those of the one client that it knows.
const (
	ClientID = "beeos"
	Secret   = "s3cr3t&"
)

// Provider is one that runs. A test bends what it says before it is asked.
type Provider struct {
	*httptest.Server
	t testing.TB

	Redirect string // the client's; "" is any
	Kid      string
	Claims   map[string]any // over those of a good ID token
	Bend     func(token string) string
	Meta     map[string]any
	UserInfo map[string]any
	Nonce    string // of the sign-in under way
	KeysRead atomic.Int64

	alg       string
	key       crypto.Signer
	challenge string
}

// Start runs a provider until the test ends.
func Start(t testing.TB) *Provider {
	p := &Provider{t: t, Claims: map[string]any{}, Bend: func(s string) string { return s }}
	p.Rotate("RS256", "k1")
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", p.discovery)
	mux.HandleFunc("GET /authorize", p.authorize)
	mux.HandleFunc("POST /token", p.token)
	mux.HandleFunc("GET /userinfo", p.who)
	mux.HandleFunc("GET /keys", p.jwks)
	p.Server = httptest.NewServer(mux)
	t.Cleanup(p.Close)
	return p
}

// Rotate signs with a new key from now on.
func (p *Provider) Rotate(alg, kid string) {
	p.t.Helper()
	var err error
	switch p.alg, p.Kid = alg, kid; alg {
	case "RS256":
		p.key, err = rsa.GenerateKey(rand.Reader, 2048)
	case "ES256":
		p.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	case "EdDSA":
		_, p.key, err = ed25519.GenerateKey(nil)
	}
	if err != nil {
		p.t.Fatal(err)
	}
}

func (p *Provider) discovery(w http.ResponseWriter, _ *http.Request) {
	meta := map[string]any{
		"issuer": p.URL, "authorization_endpoint": p.URL + "/authorize?tenant=x", "token_endpoint": p.URL + "/token",
		"userinfo_endpoint": p.URL + "/userinfo", "jwks_uri": p.URL + "/keys", "authorization_response_iss_parameter_supported": true,
	}
	maps.Copy(meta, p.Meta)
	p.answer(w, meta)
}

func (p *Provider) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	for name, want := range map[string]string{
		"response_type": "code", "client_id": ClientID,
		"scope": "openid email profile", "code_challenge_method": "S256", "tenant": "x",
	} {
		if q.Get(name) != want {
			p.t.Errorf("authorize: %s is %q", name, q.Get(name))
		}
	}
	if p.Redirect != "" && q.Get("redirect_uri") != p.Redirect {
		p.t.Errorf("authorize: redirect_uri is %q", q.Get("redirect_uri"))
	}
	p.challenge, p.Nonce = q.Get("code_challenge"), q.Get("nonce")
	back := url.Values{"code": {"c0de"}, "state": {q.Get("state")}, "iss": {p.URL}}
	http.Redirect(w, r, q.Get("redirect_uri")+"?"+back.Encode(), http.StatusFound)
}

func (p *Provider) token(w http.ResponseWriter, r *http.Request) {
	id, secret, _ := r.BasicAuth()
	if r.PostFormValue("client_secret") != "" {
		id, secret = r.PostFormValue("client_id"), url.QueryEscape(r.PostFormValue("client_secret"))
	}
	sum := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
	switch {
	case id != ClientID || secret != url.QueryEscape(Secret):
		w.WriteHeader(http.StatusUnauthorized)
		p.answer(w, map[string]any{"error": "invalid_client"})
	case base64.RawURLEncoding.EncodeToString(sum[:]) != p.challenge || r.PostFormValue("code") != "c0de":
		w.WriteHeader(http.StatusBadRequest)
		p.answer(w, map[string]any{"error": "invalid_grant"})
	default:
		p.answer(w, map[string]any{"id_token": p.Bend(p.IDToken()), "access_token": "acc"})
	}
}

// IDToken is what it says of whoever signs in.
func (p *Provider) IDToken() string {
	p.t.Helper()
	now := time.Now()
	claims := jwt.MapClaims{
		"iss": p.URL, "sub": "42", "aud": ClientID, "iat": now.Unix(), "exp": now.Add(time.Minute).Unix(), "nonce": p.Nonce,
		"email": "Ann@example.com", "email_verified": true, "name": "Ann",
	}
	maps.Copy(claims, p.Claims)
	maps.DeleteFunc(claims, func(_ string, v any) bool { return v == nil })
	token := jwt.NewWithClaims(jwt.GetSigningMethod(p.alg), claims)
	token.Header["kid"] = p.Kid
	if p.Kid == "" {
		delete(token.Header, "kid")
	}
	text, err := token.SignedString(p.key)
	if err != nil {
		p.t.Fatal(err)
	}
	return text
}

func (p *Provider) who(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Authorization") != "Bearer acc" || p.UserInfo == nil {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	p.answer(w, p.UserInfo)
}

func (p *Provider) jwks(w http.ResponseWriter, _ *http.Request) {
	p.KeysRead.Add(1)
	b64 := base64.RawURLEncoding.EncodeToString
	k := map[string]any{"kid": p.Kid, "use": "sig", "alg": p.alg}
	switch key := p.key.Public().(type) {
	case *rsa.PublicKey:
		k["kty"], k["n"], k["e"] = "RSA", b64(key.N.Bytes()), b64(big.NewInt(int64(key.E)).Bytes())
	case *ecdsa.PublicKey:
		point, err := key.Bytes()
		if err != nil {
			p.t.Error(err)
		}
		k["kty"], k["crv"], k["x"], k["y"] = "EC", "P-256", b64(point[1:33]), b64(point[33:])
	case ed25519.PublicKey:
		k["kty"], k["crv"], k["x"] = "OKP", "Ed25519", b64(key)
	}
	p.answer(w, map[string]any{"keys": []any{ // the one that signs is among others
		map[string]any{"kty": "oct", "kid": p.Kid, "k": "c2VjcmV0"},
		map[string]any{"kty": "RSA", "use": "enc", "kid": p.Kid, "n": b64(bytes.Repeat([]byte{0xff}, 256)), "e": "AQAB"},
		map[string]any{"kty": "OKP", "crv": "X448", "use": "enc", "kid": p.Kid, "x": b64(make([]byte, 56))},
		k,
	}})
}

func (p *Provider) answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(v); err != nil {
		p.t.Error(err)
	}
}

// Visit is the browser: it opens the provider's page and returns what the
// provider sends it back with.
func (p *Provider) Visit(to string) url.Values {
	p.t.Helper()
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := client.Get(to)
	if err != nil {
		p.t.Fatal(err)
	}
	defer res.Body.Close()
	back, err := res.Location()
	if err != nil {
		p.t.Fatalf("%d: %v", res.StatusCode, err)
	}
	return back.Query()
}
