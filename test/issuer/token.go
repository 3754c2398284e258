package issuer

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"net/url"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

func (s *Server) token(w http.ResponseWriter, r *http.Request) {
	if err := r.ParseForm(); err != nil {
		fail(w, http.StatusBadRequest, "invalid_request")
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	client, ok := s.client(r)
	s.Requests = append(s.Requests, Request{r.PostForm, client})
	if !ok {
		fail(w, http.StatusUnauthorized, "invalid_client")
		return
	}
	form := r.PostForm
	if form.Get("resource") == "" {
		fail(w, http.StatusBadRequest, "invalid_target")
		return
	}
	var c code
	switch form.Get("grant_type") {
	case "client_credentials":
		c = code{client: client, resource: form.Get("resource"), scope: form.Get("scope")}
	case "urn:ietf:params:oauth:grant-type:jwt-bearer":
		c = code{client: client, resource: form.Get("resource"), scope: form.Get("scope")}
		ok = s.Workload != "" && form.Get("assertion") == s.Workload
	case "authorization_code":
		c, ok = s.codes[form.Get("code")]
		delete(s.codes, form.Get("code"))
		ok = ok && fits(c, form) && c.redirect == form.Get("redirect_uri")
	case "refresh_token":
		c, ok = s.refresh[form.Get("refresh_token")]
		delete(s.refresh, form.Get("refresh_token"))
	default:
		fail(w, http.StatusBadRequest, "unsupported_grant_type")
		return
	}
	if !ok || c.client != client || c.resource != form.Get("resource") {
		fail(w, http.StatusBadRequest, "invalid_grant")
		return
	}
	s.issue(w, c, c.challenge != "") // what a person allowed lasts
}

func fits(c code, form url.Values) bool {
	sum := sha256.Sum256([]byte(form.Get("code_verifier")))
	return c.challenge == base64.RawURLEncoding.EncodeToString(sum[:])
}

func (s *Server) issue(w http.ResponseWriter, c code, renew bool) {
	aud, expires := c.resource, s.Expires
	if s.Aud != "" {
		aud = s.Aud
	}
	if expires == 0 {
		expires = 3600
	}
	access, err := jwt.NewWithClaims(jwt.SigningMethodRS256, jwt.MapClaims{
		"iss": s.URL, "aud": aud, "sub": c.client, "scope": c.scope, "jti": rand.Text(), "exp": time.Now().Add(time.Duration(expires) * time.Second).Unix(),
	}).SignedString(s.key)
	if err != nil {
		fail(w, http.StatusInternalServerError, "server_error")
		return
	}
	body := map[string]any{"access_token": access, "token_type": "Bearer", "expires_in": expires, "scope": c.scope}
	if renew {
		next := rand.Text()
		s.refresh[next] = c
		body["refresh_token"] = next
	}
	answer(w, http.StatusOK, body)
}

// client returns who asks, and whether that is proven.
func (s *Server) client(r *http.Request) (string, bool) {
	if id, secret, ok := r.BasicAuth(); ok { // both encoded like a form's, RFC 6749 2.3.1
		id, err1 := url.QueryUnescape(id)
		secret, err2 := url.QueryUnescape(secret)
		known := s.Clients[id]
		if err1 != nil || err2 != nil {
			return id, false
		}
		return id, known.Secret != "" && known.Secret == secret
	}
	id := r.PostForm.Get("client_id")
	known, there := s.Clients[id]
	if text := r.PostForm.Get("client_assertion"); text != "" {
		_, err := jwt.Parse(text, func(*jwt.Token) (any, error) { return known.Key, nil },
			jwt.WithAudience(s.URL), jwt.WithIssuer(id), jwt.WithSubject(id), jwt.WithExpirationRequired())
		return id, err == nil && known.Key != nil
	}
	if secret := r.PostForm.Get("client_secret"); secret != "" || known.Secret != "" {
		return id, secret == known.Secret
	}
	return id, there && known.Key == nil
}
