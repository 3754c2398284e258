package mcp

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/beeos/beeos/internal/surface/mcp/wire"
	"github.com/beeos/beeos/internal/wire/httpd"
	"github.com/beeos/beeos/internal/wire/strictjson"
)

// TestToolsWithoutArgumentsHaveProperties: some clients read the properties of
// every tool without asking whether there are any.
func TestToolsWithoutArgumentsHaveProperties(t *testing.T) {
	s := newStack(t)
	_, answer := s.modern(t, s.server.URL, "user", "tools/list", "", `{}`, "")
	for tool := range strictjson.Elements([]byte(field(answer, "result", "tools"))) {
		input := strictjson.Field(tool, "inputSchema")
		if string(strictjson.Field(input, "type")) != `"object"` || strictjson.Field(input, "properties") == nil {
			t.Errorf("%s", tool)
		}
		if name, _ := strictjson.StringField(tool, "name"); name == "rich" && string(input) != `{"type":"object","properties":{}}` {
			t.Errorf("%s", input)
		}
	}
}

// TestNullForOptionalArguments: some clients fill in null for what a model left
// out. The agent gets the call as if it were not there.
func TestNullForOptionalArguments(t *testing.T) {
	s := newStack(t)
	session := s.handshake(t, "clerk", "user", `{}`)
	for _, tt := range []struct{ tool, arguments, want string }{
		{"web_search", `{"query":"x","max_results":null}`, `web_search {\"query\":\"x\"}`},
		{"web_search", `{"query":"x","max_results":null,"context_id":null}`, `web_search {\"query\":\"x\"}`},
		{"web_search", `{"query":"x","other":null}`, `web_search {\"query\":\"x\",\"other\":null}`},
		{"web_search", `{"query":null}`, `/properties/query: type: has type \"null\", want \"string\"`},
	} {
		if got := s.callIn(t, s.server.URL, session, tt.tool, tt.arguments); !strings.Contains(string(got), tt.want) {
			t.Errorf("%s:\n got %s\nwant %s", tt.arguments, got, tt.want)
		}
	}
	if _, got := s.modern(t, s.server.URL, "user", "prompts/get", "greet", `{}`, `"name":"greet","arguments":{"who":"Ann","mood":null}`); !strings.Contains(string(got), "Greet Ann") {
		t.Errorf("prompt: %s", got)
	}
}

// TestOlderClientsReadNewerContent: the blocks of a reply are those of the
// revision that its client speaks, in a batch as well.
func TestOlderClientsReadNewerContent(t *testing.T) {
	s := newStack(t)
	for version, linked := range map[string]bool{"2024-11-05": false, "2025-03-26": false, "2025-06-18": true, "2025-11-25": true} {
		resp := s.send(t.Context(), t, s.server.URL, "clerk", "user", "",
			`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"`+version+`","capabilities":{}}}`)
		got := s.callIn(t, s.server.URL, resp.Header.Get(wire.HeaderSession), "rich", `{}`)
		if strings.Contains(string(got), `"resource_link"`) != linked || !strings.Contains(string(got), "note://kind") {
			t.Errorf("%s: %s", version, got)
		}
		if version != "2025-03-26" {
			continue
		}
		batch := s.send(t.Context(), t, s.server.URL, "clerk", "user", resp.Header.Get(wire.HeaderSession),
			`[{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"rich"}}]`)
		if all, err := io.ReadAll(batch.Body); err != nil || strings.Contains(string(all), `"resource_link"`) || !strings.Contains(string(all), "note://kind") {
			t.Errorf("batch: %s, %v", all, err)
		}
	}
}

// TestRefusalsCarryTheID: a client finds the request that was refused by its
// id, wherever it was refused. What has no id that could be trusted has none.
func TestRefusalsCarryTheID(t *testing.T) {
	s := newStack(t)
	const body = `{"jsonrpc":"2.0","id":"q7","method":"tools/list"}`
	for name, tt := range map[string]struct {
		body   string
		change func(*http.Request)
		id     string
	}{
		"no credential":      {body, func(r *http.Request) { r.Header.Del("Authorization") }, `"q7"`},
		"bad credential":     {body, func(r *http.Request) { r.Header.Set("Authorization", "Bearer x") }, `"q7"`},
		"another agent":      {body, func(r *http.Request) { r.URL.Path = "/agent_nosuch/mcp" }, `"q7"`},
		"unknown session":    {body, func(r *http.Request) { r.Header.Set(wire.HeaderSession, "x") }, `"q7"`},
		"unknown revision":   {body, func(r *http.Request) { r.Header.Set(wire.HeaderVersion, "1999-01-01") }, `"q7"`},
		"accepts nothing":    {body, func(r *http.Request) { r.Header.Set("Accept", "image/png") }, `"q7"`},
		"wrong content type": {body, func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") }, `"q7"`},
		"old transport":      {body, func(r *http.Request) { r.URL.Path = "/" + s.agents["clerk"] + "/messages" }, `"q7"`},
		"not JSON":           {`{"jsonrpc":"2.0","id":"q7",`, func(r *http.Request) { r.Header.Del("Authorization") }, `null`},
		"twice an id":        {`{"jsonrpc":"2.0","id":"q7","id":8,"method":"ping"}`, func(r *http.Request) { r.Header.Del("Authorization") }, `null`},
		"a response":         {`{"jsonrpc":"2.0","id":"q7","result":{}}`, func(r *http.Request) { r.Header.Del("Authorization") }, `null`},
		"a stranger's large body": {
			`{"jsonrpc":"2.0","id":"q7","method":"tools/list","params":{"x":"` + strings.Repeat("x", httpd.RefusedBody) + `"}}`,
			func(r *http.Request) { r.Header.Del("Authorization") }, `null`,
		},
	} {
		r := s.request(t.Context(), t, s.server.URL, "clerk", "user", "", tt.body)
		tt.change(r)
		resp, err := http.DefaultClient.Do(r)
		s.must(err)
		answer, err := io.ReadAll(resp.Body)
		s.must(err)
		resp.Body.Close()
		if field(answer, "error") == "" || field(answer, "id") != tt.id {
			t.Errorf("%s: %s %s", name, resp.Status, answer)
		}
	}
}
