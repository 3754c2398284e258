package oauth

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/access/auth"
	"github.com/beeos/beeos/internal/access/oauth/protocol"
	"github.com/beeos/beeos/internal/store/grants"
)

const (
	queryLongest = 8 << 10
	beginsMost   = 120 // a minute from one address
	// binderCookie holds what ties a request to the browser that made it. Ports
	// share cookies, hosts do not.
	binderCookie = "__Host-beeos_authz"
	binderFor    = 3600 // seconds
)

// authorize takes a client's request and sends the person on to the console.
// While client and redirect are not known to be good nobody is sent anywhere:
// the person sees a page. From then on errors go back to the client.
func (s *Server) authorize(w http.ResponseWriter, r *http.Request) (location string, err error) {
	q, err := authorizeQuery(r.URL.RawQuery)
	if err != nil {
		return "", err
	}
	c, err := s.findClient(r.Context(), q.Get("client_id"), address(r))
	if err != nil {
		return "", err
	}
	if !slices.ContainsFunc(c.RedirectURIs, func(registered string) bool { return matches(registered, q.Get("redirect_uri")) }) {
		return "", refusal("invalid_request", "its redirect_uri is not one that it has registered")
	}
	tx, refused := s.checkRequest(c, q)
	if refused != nil {
		return s.errorURL(q.Get("redirect_uri"), q.Get("state"), refused), nil
	}
	if err := s.begins.Take(address(r)); err != nil {
		return "", err
	}
	tx.Binder = auth.Hash(s.bindBrowser(w, r))
	if err := s.opt.Grants.BeginFlow(r.Context(), tx); err != nil {
		return "", err
	}
	back := s.Issuer + "/oauth/return?tx=" + url.QueryEscape(tx.ID)
	return s.opt.ConsoleURL + "/mcp-login?return_to=" + url.QueryEscape(back), nil
}

// authorizeQuery reads a query in which nothing is said twice, but for
// resource, whose errors have a word of their own.
func authorizeQuery(raw string) (url.Values, error) {
	if len(raw) > queryLongest {
		return nil, refusal("invalid_request", "its request is too long")
	}
	q, err := url.ParseQuery(raw)
	if err != nil {
		return nil, refusal("invalid_request", "its request cannot be read")
	}
	for name, values := range q {
		if len(values) > 1 && name != "resource" {
			return nil, refusal("invalid_request", "its request says something twice")
		}
	}
	return q, nil
}

// checkRequest checks everything else that a client asks.
func (s *Server) checkRequest(c grants.Client, q url.Values) (grants.Flow, *protocol.Error) {
	challenge := q.Get("code_challenge")
	switch {
	case q.Get("response_type") != "code":
		return grants.Flow{}, refusal("unsupported_response_type", "response_type is code")
	case q.Get("response_mode") != "" && q.Get("response_mode") != "query":
		return grants.Flow{}, refusal("invalid_request", "response_mode is query")
	case q.Get("code_challenge_method") != "S256" || !isChallenge(challenge):
		return grants.Flow{}, refusal("invalid_request", "PKCE is required: code_challenge with code_challenge_method S256")
	}
	resource, refused := s.Bases.Read(q["resource"])
	if refused != nil {
		return grants.Flow{}, refused
	}
	return grants.Flow{
		ID: beeos.NewSecret(""), ClientID: c.ID, ClientName: c.Name, RedirectURI: q.Get("redirect_uri"), State: q.Get("state"),
		Challenge: challenge, Resource: resource, Scope: q.Get("scope"), ExpiresAt: s.opt.Now().Add(txFor),
	}, nil
}

// isChallenge reports whether s is the SHA-256 of something.
func isChallenge(s string) bool {
	b, err := base64.RawURLEncoding.Strict().DecodeString(s)
	return err == nil && len(b) == sha256.Size
}

// errorURL brings an error back to a client.
func (s *Server) errorURL(redirect, state string, e *protocol.Error) string {
	return s.answerURL(redirect, state, url.Values{"error": {e.Code}, "error_description": {e.Description}})
}

// answerURL brings an answer back to a client.
func (s *Server) answerURL(redirect, state string, answer url.Values) string {
	answer.Set("iss", s.Issuer)
	if state != "" {
		answer.Set("state", state)
	}
	return withQuery(redirect, answer)
}

// bindBrowser returns what this browser is recognised by. One that it has is
// kept, so that two apps can be connected side by side.
func (s *Server) bindBrowser(w http.ResponseWriter, r *http.Request) string {
	binder := readBinder(r)
	if binder == "" {
		binder = beeos.NewSecret("")
	}
	http.SetCookie(w, &http.Cookie{
		Name: binderCookie, Value: binder, Path: "/", MaxAge: binderFor,
		Secure: true, HttpOnly: true, SameSite: http.SameSiteLaxMode,
	})
	return binder
}

// readBinder returns the one that a browser brings, or "".
func readBinder(r *http.Request) string {
	cookies := r.CookiesNamed(binderCookie)
	if len(cookies) != 1 || len(cookies[0].Value) != 64 {
		return ""
	}
	return cookies[0].Value
}

// listRequested lists the agents that a request names, by resource and by scope.
func listRequested(agentID, scope string) []string {
	var list []string
	if agentID != "" {
		list = append(list, agentID)
	}
	for word := range strings.FieldsSeq(scope) {
		if id, ok := strings.CutPrefix(word, protocol.AgentScope); ok && protocol.IsAgentID(id) && len(list) < agentsMost && !slices.Contains(list, id) {
			list = append(list, id)
		}
	}
	return list
}
