package mcp

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/beeos/beeos/internal/access/oauth"
)

func (s *stack) endpoint(agent string) string { return publicURL + "/" + s.agents[agent] + "/mcp" }

// app is a client of the authorization server, at an address of its own.
type app struct {
	s       *stack
	address string
	cookies []*http.Cookie
}

// ask sends a request through the gateway and returns where that leads, and
// what it says.
func (a *app) ask(method, target, kind, body string) (location *url.URL, answer map[string]any) {
	a.s.t.Helper()
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	r.RemoteAddr = a.address
	r.Header.Set("Content-Type", kind)
	for _, c := range a.cookies {
		r.AddCookie(c)
	}
	w := httptest.NewRecorder()
	a.s.gateway.ServeHTTP(w, r)
	a.cookies = append(a.cookies, w.Result().Cookies()...)
	_ = json.Unmarshal(w.Body.Bytes(), &answer)
	location, err := url.Parse(w.Header().Get("Location"))
	a.s.must(err)
	return location, answer
}

// token goes through registration, consent and exchange as a client of its
// own. No agents means all.
func (s *stack) token(resource string, agents ...string) string {
	s.t.Helper()
	const verifier, redirect = "verifier-verifier-verifier-verifier-verifier", "http://127.0.0.1:1/cb"
	s.apps++
	a := &app{s: s, address: fmt.Sprintf("203.0.113.%d:1", s.apps)}
	_, registered := a.ask("POST", "/oauth/register", "application/json", `{"redirect_uris":["`+redirect+`"]}`)
	id, _ := registered["client_id"].(string)
	sum := sha256.Sum256([]byte(verifier))
	q := url.Values{"response_type": {"code"}, "client_id": {id}, "redirect_uri": {redirect}, "code_challenge_method": {"S256"}, "code_challenge": {base64.RawURLEncoding.EncodeToString(sum[:])}}
	if resource != "" {
		q.Set("resource", resource)
	}
	login, _ := a.ask("GET", "/oauth/authorize?"+q.Encode(), "", "")
	back, err := url.Parse(login.Query().Get("return_to"))
	s.must(err)
	choice := oauth.Choice{All: len(agents) == 0}
	for _, name := range agents {
		choice.Agents = append(choice.Agents, s.agents[name])
	}
	returned, err := s.oauth.Allow(context.Background(), back.Query().Get("tx"), s.owner.ID, choice)
	s.must(err)
	done, _ := a.ask("GET", strings.TrimPrefix(returned, publicURL), "", "")
	f := url.Values{"grant_type": {"authorization_code"}, "code": {done.Query().Get("code")}, "code_verifier": {verifier}, "client_id": {id}, "redirect_uri": {redirect}}
	_, answer := a.ask("POST", "/oauth/token", "application/x-www-form-urlencoded", f.Encode())
	token, ok := answer["access_token"].(string)
	if !ok {
		s.t.Fatalf("token: %v", answer)
	}
	return token
}

// revoked returns the token after its grant, the newest, was revoked.
func (s *stack) revoked(token string) string {
	grants, err := s.oauth.ListGrants(context.Background(), s.owner.ID)
	s.must(err)
	_, err = s.db.Grants.RevokeGrant(context.Background(), s.owner.ID, grants[0].ID, time.Now())
	s.must(err)
	s.oauth.Forget(grants[0].ID)
	return token
}

// call sends one message and returns the answer with its body.
func (s *stack) call(t *testing.T, path, token, body string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequest(http.MethodPost, s.server.URL+path, strings.NewReader(body))
	s.must(err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+token)
	resp, err := http.DefaultClient.Do(r)
	s.must(err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	s.must(err)
	return resp, string(text)
}

const listTools = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`

// TestChallengesNameWhatIsMissing: a token of one agent learns at another how
// to get that one's; a token that fits, but without the agent, which scope it
// lacks.
func TestChallengesNameWhatIsMissing(t *testing.T) {
	s := newStack(t)
	metadata := func(agent string) string {
		return `resource_metadata="` + publicURL + `/.well-known/oauth-protected-resource/` + s.agents[agent] + `/mcp"`
	}
	for _, tt := range []struct {
		name, token, agent string
		status             int
		want               string
	}{
		{"its own", s.token(s.endpoint("clerk"), "clerk"), "clerk", http.StatusOK, ""},
		{"another's", s.token(s.endpoint("clerk"), "clerk", "talker"), "talker", http.StatusUnauthorized, metadata("talker") + `, error="invalid_token", scope="agent:` + s.agents["talker"] + `"`},
		{"not granted", s.token("", "clerk"), "talker", http.StatusForbidden, metadata("talker") + `, error="insufficient_scope", scope="agent:` + s.agents["talker"] + `"`},
		{"all, but MCP is off", s.token(""), "closed", http.StatusUnauthorized, `error="invalid_token"`},
	} {
		resp, body := s.call(t, "/"+s.agents[tt.agent]+"/mcp", tt.token, listTools)
		if resp.StatusCode != tt.status || !strings.Contains(resp.Header.Get("Www-Authenticate"), tt.want) {
			t.Errorf("%s: %s %s %s", tt.name, resp.Status, resp.Header.Get("Www-Authenticate"), body)
		}
	}
	if resp, _ := s.call(t, "/nosuch/mcp", s.token(""), listTools); resp.StatusCode != http.StatusNotFound {
		t.Errorf("no such agent: %s", resp.Status)
	}
}

// TestUnionOfGrants: the endpoint of all agents has those that were granted.
func TestUnionOfGrants(t *testing.T) {
	s := newStack(t)
	for _, tt := range []struct {
		token  string
		agents string
	}{
		{s.token(publicURL+"/mcp", "talker"), "talker"},
		{s.token("", "talker"), "talker"},
		{s.token(publicURL + "/mcp"), "clerk talker"},
	} {
		resp, body := s.call(t, "/mcp", tt.token, listTools)
		for _, name := range []string{"clerk", "talker"} {
			if listed := strings.Contains(body, `"name":"`+name+`"`); listed != strings.Contains(tt.agents, name) {
				t.Errorf("%s: %s is listed: %v %s", tt.agents, name, listed, resp.Status)
			}
		}
	}
	if resp, _ := s.call(t, "/mcp", s.token(s.endpoint("clerk"), "clerk"), listTools); resp.StatusCode != http.StatusUnauthorized {
		t.Errorf("one agent's token: %s", resp.Status)
	}
	if resp, body := s.call(t, "/mcp", "new_1", listTools); resp.StatusCode != http.StatusUnauthorized {
		t.Errorf("a kind of credential that nobody knows: %s %s", resp.Status, body)
	}
}

// TestRevocationCutsTheNextCall on the replica that heard of it.
func TestRevocationCutsTheNextCall(t *testing.T) {
	s := newStack(t)
	token := s.token(s.endpoint("clerk"), "clerk")
	path := "/" + s.agents["clerk"] + "/mcp"
	if resp, body := s.call(t, path, token, listTools); resp.StatusCode != http.StatusOK {
		t.Fatal(resp.Status, body)
	}
	s.revoked(token)
	if resp, _ := s.call(t, path, token, listTools); resp.StatusCode != http.StatusUnauthorized {
		t.Errorf("after revocation: %s", resp.Status)
	}
}

// TestAuthorizationServerIsMounted: its documents are where clients look, for
// pages of other origins as well, and never anything but JSON.
func TestAuthorizationServerIsMounted(t *testing.T) {
	s := newStack(t)
	agent := "/" + s.agents["clerk"] + "/mcp"
	for path, status := range map[string]int{
		"/.well-known/oauth-authorization-server": 200, "/.well-known/openid-configuration" + agent: 200, agent + "/.well-known/openid-configuration": 200,
		"/.well-known/oauth-protected-resource" + agent: 200, "/.well-known/oauth-protected-resource": 200, "/.well-known/x": 404, "/oauth/x": 404, "/oauth/token": 405,
	} {
		r, err := http.NewRequest(http.MethodGet, s.server.URL+path, nil)
		s.must(err)
		r.Header.Set("Origin", "https://inspector.example")
		resp, err := http.DefaultClient.Do(r)
		s.must(err)
		resp.Body.Close()
		if resp.StatusCode != status || resp.Header.Get("Content-Type") != "application/json" || resp.Header.Get("Access-Control-Allow-Origin") != "https://inspector.example" {
			t.Errorf("%s: %s %v", path, resp.Status, resp.Header)
		}
		r.Method = http.MethodOptions
		r.Header.Set("Access-Control-Request-Headers", "mcp-protocol-version")
		resp, err = http.DefaultClient.Do(r)
		s.must(err)
		resp.Body.Close()
		if resp.StatusCode != http.StatusNoContent || resp.Header.Get("Access-Control-Allow-Headers") != "mcp-protocol-version" {
			t.Errorf("OPTIONS %s: %s %v", path, resp.Status, resp.Header)
		}
	}
	r, err := http.NewRequest(http.MethodGet, s.server.URL+"/oauth/authorize?client_id=x", nil)
	s.must(err)
	r.Header.Set("Origin", "null")
	resp, err := http.DefaultClient.Do(r)
	s.must(err)
	resp.Body.Close()
	if resp.StatusCode != http.StatusBadRequest || !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/html") || resp.Header.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("a person's browser: %s %v", resp.Status, resp.Header)
	}
}

// TestTokensCountOnlyInTheHeader: only the header counts.
func TestTokensCountOnlyInTheHeader(t *testing.T) {
	s := newStack(t)
	token := s.token(s.endpoint("clerk"), "clerk")
	r, err := http.NewRequest(http.MethodPost, s.server.URL+"/"+s.agents["clerk"]+"/mcp?access_token="+token+"&authorization=Bearer+"+token, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/list","access_token":"`+token+`"}`))
	s.must(err)
	r.Header.Set("Content-Type", "application/json")
	r.AddCookie(&http.Cookie{Name: "access_token", Value: token})
	resp, err := http.DefaultClient.Do(r)
	s.must(err)
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusUnauthorized {
		t.Error(resp.Status)
	}
}
