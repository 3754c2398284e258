// Package issuer is an authorization server for tests, with everything that a
// real one checks: clients and their proofs, PKCE, one-time codes, rotating
// refresh tokens, scopes, and the resource that each token is for. Guard stands
// before a server that takes its tokens. issuer.go is the server, token.go its
// token endpoint, guard.go the other side, and vault.go what a client keeps.
package issuer

import (
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Client is one that the server knows.
type Client struct {
	Secret string
	Key    any // public key, for private_key_jwt
}

// Server is an authorization server.
type Server struct {
	*httptest.Server
	Clients  map[string]Client
	Metadata map[string]any // added to, or instead of, what it says about itself
	Aud      string         // put into tokens instead of the resource, to make wrong ones
	Deny     bool           // people say no
	Asks     bool           // people are shown a page, and decide there
	Workload string         // the assertion that stands for its client, RFC 7523
	Expires  int            // seconds; 0 = an hour

	key *rsa.PrivateKey

	mu       sync.Mutex
	Requests []Request // to the token endpoint
	codes    map[string]code
	refresh  map[string]code
	Families int // registrations so far
}

// Request is what the token endpoint was asked.
type Request struct {
	Form   url.Values
	Client string
}

type code struct{ client, challenge, redirect, resource, scope string }

// New starts a server that knows the clients.
func New(t testing.TB, clients map[string]Client) *Server {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	if clients == nil {
		clients = map[string]Client{}
	}
	s := &Server{Clients: clients, key: key, codes: map[string]code{}, refresh: map[string]code{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/oauth-authorization-server", s.describe)
	mux.HandleFunc("POST /register", s.register)
	mux.HandleFunc("GET /authorize", s.authorize)
	mux.HandleFunc("POST /token", s.token)
	s.Server = httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

func (s *Server) describe(w http.ResponseWriter, _ *http.Request) {
	about := map[string]any{
		"issuer": s.URL, "authorization_endpoint": s.URL + "/authorize", "token_endpoint": s.URL + "/token", "registration_endpoint": s.URL + "/register",
		"response_types_supported": []string{"code"}, "code_challenge_methods_supported": []string{"S256"}, "authorization_response_iss_parameter_supported": true,
		"token_endpoint_auth_methods_supported": []string{"client_secret_basic", "client_secret_post", "private_key_jwt", "none"},
		"scopes_supported":                      []string{"files:read", "files:write", "offline_access"},
	}
	for k, v := range s.Metadata {
		about[k] = v
	}
	answer(w, http.StatusOK, about)
}

func (s *Server) register(w http.ResponseWriter, r *http.Request) {
	var asked struct {
		Redirects []string `json:"redirect_uris"`
		Method    string   `json:"token_endpoint_auth_method"`
	}
	if err := json.NewDecoder(r.Body).Decode(&asked); err != nil || len(asked.Redirects) == 0 {
		fail(w, http.StatusBadRequest, "invalid_client_metadata")
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Families++
	id, secret := fmt.Sprintf("registered-%d", s.Families), rand.Text()
	s.Clients[id] = Client{Secret: secret}
	answer(w, http.StatusCreated, map[string]any{"client_id": id, "client_secret": secret, "redirect_uris": asked.Redirects, "token_endpoint_auth_method": asked.Method})
}

// asking is the page on which a person decides.
var asking = template.Must(template.New("").Parse(`<!doctype html><html lang="en"><title>Let it in?</title><link rel="icon" href="data:,">
<h1>{{.Get "client_id"}} wants to use {{.Get "resource"}}</h1><p>{{.Get "scope"}}</p>
<form>{{range $name, $values := .}}<input type="hidden" name="{{$name}}" value="{{index $values 0}}">{{end}}
<button name="decision" value="deny">No</button> <button name="decision" value="allow" id="allow">Yes</button></form>`))

// authorize is a person who has made up their mind already, or decides now.
func (s *Server) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	s.mu.Lock()
	defer s.mu.Unlock()
	_, known := s.Clients[q.Get("client_id")]
	back, err := url.Parse(q.Get("redirect_uri"))
	if !known || err != nil || q.Get("code_challenge_method") != "S256" || q.Get("resource") == "" {
		http.Error(w, "who are you?", http.StatusBadRequest)
		return
	}
	if s.Asks && q.Get("decision") == "" {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_ = asking.Execute(w, q) // a browser that has left
		return
	}
	answer := url.Values{"state": {q.Get("state")}, "iss": {s.URL}}
	if s.Deny || q.Get("decision") == "deny" {
		answer.Set("error", "access_denied")
	} else {
		one := rand.Text()
		s.codes[one] = code{q.Get("client_id"), q.Get("code_challenge"), q.Get("redirect_uri"), q.Get("resource"), q.Get("scope")}
		answer.Set("code", one)
	}
	back.RawQuery = answer.Encode()
	http.Redirect(w, r, back.String(), http.StatusFound)
}

// SetAudience makes tokens that are for another resource from now on.
func (s *Server) SetAudience(resource string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Aud = resource
}

// Asked returns what the token endpoint was asked so far.
func (s *Server) Asked() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.Requests)
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // a client that has left
}

func fail(w http.ResponseWriter, status int, code string) {
	answer(w, status, map[string]any{"error": code, "error_description": "refused by the test: " + strings.ToUpper(code)})
}
