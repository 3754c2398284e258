package mcp

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/access/auth"
	"github.com/beeos/beeos/internal/surface/mcp/wire"
)

// newKind is a kind of credential that the surfaces know nothing of. It says
// that it is the owner's.
func (s *stack) newKind() auth.Method {
	return auth.Method{Prefix: "new_", Surfaces: []auth.Surface{auth.MCP}, Check: func(*http.Request, string, auth.Audience) (beeos.Caller, error) {
		return beeos.Caller{Kind: "new", UserID: s.owner.ID, CredentialID: "c", AgentID: s.agents["clerk"], AgentIDs: []string{s.agents["clerk"]}, AllAgents: true}, nil
	}}
}

// TestAccessIsTheSameInEveryRevision: who may do what does not depend on the
// revision that a client speaks, nor on the method, the door or the verb.
func TestAccessIsTheSameInEveryRevision(t *testing.T) {
	s := newStack(t)
	s.key(t.Context(), "revoked", beeos.Key{Kind: beeos.UserKey, OwnerID: s.owner.ID})
	s.must(s.db.Keys.Revoke(t.Context(), s.owner.ID, "key_revoked"))
	bearer := func(token string) http.Header { return http.Header{"Authorization": {"Bearer " + token}} }
	mine := s.endpoint("clerk")
	own, err := s.oauth.IssueUserTokens(t.Context(), s.owner)
	s.must(err)
	credentials := []struct {
		name    string
		headers http.Header
		status  int // 0 = let in
	}{
		{"none", http.Header{}, http.StatusUnauthorized},
		{"unknown", http.Header{"Authorization": {"Bearer oag_" + strings.Repeat("0", 64)}}, http.StatusUnauthorized},
		{"revoked", http.Header{"Authorization": {"Bearer " + s.keys["revoked"]}}, http.StatusUnauthorized},
		{"not a key", http.Header{"Authorization": {"Bearer x"}}, http.StatusUnauthorized},
		{"two", http.Header{"Authorization": {"Bearer " + s.keys["user"]}, "X-Agent-Api-Key": {s.keys["clerk"]}}, http.StatusUnauthorized},
		{"another agent's", http.Header{"X-Agent-Api-Key": {s.keys["talker"]}}, http.StatusUnauthorized},
		{"a stranger's", http.Header{"Authorization": {"Bearer " + s.keys["stranger"]}}, http.StatusNotFound},
		{"a stranger's with names", http.Header{"Authorization": {"Bearer " + s.keys["stranger"]}, "X-User-Id": {s.owner.ID}, "X-Org-Id": {"1"}}, http.StatusNotFound},
		{"no token", bearer("a.b.c"), http.StatusUnauthorized},
		{"of a kind that nobody knows", bearer("new_1"), http.StatusNotFound},
		{"a token of a person's own", bearer(own.Access), http.StatusUnauthorized},
		{"a token for another agent", bearer(s.token(s.endpoint("talker"), "clerk", "talker")), http.StatusUnauthorized},
		{"a token for the endpoint of all", bearer(s.token(publicURL+"/mcp", "clerk")), http.StatusUnauthorized},
		{"a revoked token", bearer(s.revoked(s.token(mine, "clerk"))), http.StatusUnauthorized},
		{"a token and a key", http.Header{"Authorization": {"Bearer " + s.token(mine, "clerk")}, "X-Agent-Api-Key": {s.keys["clerk"]}}, http.StatusUnauthorized},
		{"a token for the gateway, without this agent", bearer(s.token("", "talker")), http.StatusForbidden},
		{"a token for this agent", bearer(s.token(mine, "clerk", "talker")), 0},
		{"a token for the gateway, with this agent", bearer(s.token("", "clerk")), 0},
		{"a token for all agents", bearer(s.token("")), 0},
		{"the owner's", http.Header{"Authorization": {"Bearer " + s.keys["user"]}}, 0},
		{"the agent's", http.Header{"X-Agent-Api-Key": {s.keys["clerk"]}}, 0},
		{"the agent's, twice", http.Header{"Authorization": {"Bearer " + s.keys["clerk"]}, "X-Agent-Api-Key": {s.keys["clerk"]}}, 0},
	}
	methods := map[string]string{
		"initialize": `"protocolVersion":"2025-11-25","capabilities":{}`, "ping": ``, "logging/setLevel": `"level":"info"`,
		"tools/list": ``, "tools/call": `"name":"what"`, "prompts/list": ``, "prompts/get": `"name":"live"`,
		"resources/list": ``, "resources/templates/list": ``, "resources/read": `"uri":"note://kind"`, "resources/subscribe": `"uri":"note://kind"`,
		"completion/complete": `"ref":{"type":"ref/prompt","name":"greet"},"argument":{"name":"who","value":""}`,
		"server/discover":     ``, "tasks/get": `"taskId":"x"`, "tasks/cancel": `"taskId":"x"`, "skills/list": ``, "nope": ``,
		"tasks/update": `"taskId":"x","inputResponses":{}`, "skills/get": `"uri":"x"`, "resources/directory/read": `"uri":"x"`,
		"resources/unsubscribe": `"uri":"note://kind"`, "subscriptions/listen": ``,
	}
	for _, table := range []map[string]handler{commonMethods, handshakeMethods, statelessMethods} {
		for method := range table {
			if _, ok := methods[method]; !ok {
				t.Errorf("%s is not in the matrix", method)
			}
		}
	}
	check := func(what string, status int, r *http.Request, headers http.Header) {
		t.Helper()
		for name, values := range headers {
			r.Header[name] = values
		}
		resp, err := http.DefaultClient.Do(r)
		s.must(err)
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		s.must(err)
		refused := resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden || strings.Contains(string(body), "agent_not_found")
		if status == 0 && refused || status != 0 && resp.StatusCode != status {
			t.Errorf("%s: %s %s", what, resp.Status, body)
		}
		if status != 0 && (strings.Contains(string(body), "small things") || strings.Contains(string(body), "result")) {
			t.Errorf("%s tells: %s", what, body)
		}
	}
	request := func(verb, door, body string) *http.Request {
		r, err := http.NewRequest(verb, s.server.URL+"/"+s.agents["clerk"]+door, strings.NewReader(body))
		s.must(err)
		r.Header.Set("Content-Type", "application/json")
		return r
	}
	for _, c := range credentials {
		for method, params := range methods {
			for _, version := range wire.VersionNames {
				meta := ""
				if wire.VersionOf(version).Stateless() {
					meta = `"_meta":{"` + wire.MetaVersion + `":"2026-07-28","` + wire.MetaCapabilities + `":` + taskable + `}`
				}
				r := request(http.MethodPost, "/mcp", `{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":{`+strings.Trim(params+","+meta, ",")+`}}`)
				r.Header.Set(wire.HeaderMethod, method)
				if name := field([]byte(`{`+params+`}`), wire.NameMembers[method]); name != "" {
					r.Header.Set(wire.HeaderName, strings.Trim(name, `"`))
				}
				if version != "" {
					r.Header.Set(wire.HeaderVersion, version)
				}
				check(c.name+" "+version+" "+method, c.status, r, c.headers)
			}
		}
		for _, r := range []*http.Request{request("GET", "/mcp", ""), request("DELETE", "/mcp", ""), request("POST", "/messages?session=x", "{}"), request("PUT", "/mcp", "")} {
			check(c.name+" "+r.Method+" "+r.URL.Path, c.status, r, c.headers)
		}
		if c.status != 0 {
			check(c.name+" GET /sse", c.status, request("GET", "/sse", ""), c.headers)
		}
	}
}

// TestForeignNamesOpenNothing: an id is its owner's at its agent, in every
// place where it is presented.
func TestForeignNamesOpenNothing(t *testing.T) {
	s := newStack(t)
	session := s.handshake(t, "clerk", "user", `{}`)
	for _, tt := range []struct{ agent, key, id string }{
		{"clerk", "clerk", session}, {"talker", "user", session}, {"clerk", "user", session[:len(session)-1]}, {"clerk", "user", session + "A"}, {"clerk", "user", "x"},
	} {
		if got := s.send(t.Context(), t, s.server.URL, tt.agent, tt.key, tt.id, `{"jsonrpc":"2.0","id":1,"method":"ping"}`); got.StatusCode != http.StatusNotFound {
			t.Errorf("%s at %s: %s", tt.key, tt.agent, got.Status)
		}
		for _, verb := range []string{http.MethodGet, http.MethodDelete} {
			r, err := http.NewRequest(verb, s.other.URL+"/"+s.agents[tt.agent]+"/mcp", nil)
			s.must(err)
			r.Header = http.Header{"Accept": {"text/event-stream"}, "Authorization": {"Bearer " + s.keys[tt.key]}, wire.HeaderSession: {tt.id}}
			resp, err := http.DefaultClient.Do(r)
			s.must(err)
			resp.Body.Close()
			if resp.StatusCode != http.StatusNotFound {
				t.Errorf("%s by %s at %s: %s", verb, tt.key, tt.agent, resp.Status)
			}
		}
	}
	if got := s.send(t.Context(), t, s.other.URL, "clerk", "user", session, `{"jsonrpc":"2.0","id":1,"method":"ping"}`); got.StatusCode != http.StatusOK {
		t.Error("its owner: ", got.Status)
	}
}
