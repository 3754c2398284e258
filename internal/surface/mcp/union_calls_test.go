package mcp

import (
	"bufio"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/surface/mcp/wire"
	"github.com/beeos/beeos/internal/wire/strictjson"
)

// all posts a message to the endpoint of all agents.
func (s *stack) all(t *testing.T, at, key, session, body string) (*http.Response, *bufio.Scanner) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, at+"/mcp", strings.NewReader(body))
	s.must(err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("Authorization", "Bearer "+s.keys[key])
	if session != "" {
		r.Header.Set(wire.HeaderSession, session)
	}
	resp, err := http.DefaultClient.Do(r)
	s.must(err)
	t.Cleanup(func() { resp.Body.Close() })
	return resp, bufio.NewScanner(resp.Body)
}

func (s *stack) allAnswer(t *testing.T, key, body string) []byte {
	t.Helper()
	resp, _ := s.all(t, s.server.URL, key, "", body)
	answer, err := io.ReadAll(resp.Body)
	s.must(err)
	return answer
}

func listed(answer []byte) string {
	var names []string
	for tool := range strictjson.Elements([]byte(field(answer, "result", "tools"))) {
		name, _ := strictjson.StringField(tool, "name")
		names = append(names, name)
	}
	return strings.Join(names, " ")
}

// TestUnion: one endpoint for all agents of a credential, and for no others.
func TestUnion(t *testing.T) {
	s := newStack(t)
	const list = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	names := listed(s.allAnswer(t, "user", list))
	if !strings.Contains(names, "clerk__web_search ") || !strings.HasSuffix(names, " clerk quiet talker") || strings.Contains(names, "closed") {
		t.Errorf("the owner's: %s", names)
	}
	if got := listed(s.allAnswer(t, "talker", list)); got != "talker" {
		t.Errorf("an agent key's: %s", got)
	}
	if got := listed(s.allAnswer(t, "stranger", list)); got != "" {
		t.Errorf("a stranger's: %s", got)
	}
	for _, tt := range []struct{ key, tool, arguments, want string }{
		{"user", "clerk__web_search", `{"query":"x"}`, `web_search {\"query\":\"x\"}`},
		{"user", "talker", `{"message":"hi"}`, "you said: hi"},
		{"talker", "talker", `{"message":"hi"}`, "you said: hi"},
		{"talker", "clerk__web_search", `{"query":"x"}`, "Tool not found"},
		{"stranger", "talker", `{"message":"hi"}`, "Tool not found"},
		{"user", "web_search", `{"query":"x"}`, "Tool not found"},
		{"user", "clerk__web_search", `{"query":5}`, "-32602"},
	} {
		got := s.allAnswer(t, tt.key, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"`+tt.tool+`","arguments":`+tt.arguments+`}}`)
		if !strings.Contains(string(got), tt.want) {
			t.Errorf("%s calls %s: %s", tt.key, tt.tool, got)
		}
	}
	if resp, _ := s.all(t, s.server.URL, "nobody", "", list); resp.StatusCode != http.StatusUnauthorized ||
		!strings.Contains(resp.Header.Get("Www-Authenticate"), publicURL+`/.well-known/oauth-protected-resource/mcp"`) {
		t.Error(resp.Status, resp.Header.Get("Www-Authenticate"))
	}
}

// TestUnionSession: a session over all agents keeps a channel with each, asks
// and hears of changes.
func TestUnionSession(t *testing.T) {
	s := newStack(t)
	resp, _ := s.all(t, s.server.URL, "user", "", `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"roots":{}}}}`)
	session := resp.Header.Get(wire.HeaderSession)
	for _, body := range []string{`"clerk__what"`, `"clerk__what"`, `"talker","arguments":{"message":"hi"}`} {
		if resp, _ := s.all(t, s.other.URL, "user", session, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":`+body+`}}`); resp.StatusCode != http.StatusOK {
			t.Error(resp.Status)
		}
	}
	f := s.frames()
	if len(f) != 3 || f[0].ChannelID != f[1].ChannelID || f[1].ChannelID == f[2].ChannelID {
		t.Errorf("channels %+v", f)
	}
	_, events := s.all(t, s.server.URL, "user", session, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"clerk__ask","arguments":{"method":"roots/list"}}}`)
	ask := nextEvent(t, events)
	s.all(t, s.other.URL, "user", session, `{"jsonrpc":"2.0","id":`+field(ask, "id")+`,"result":{"roots":[]}}`)
	if got := string(nextEvent(t, events)); !strings.Contains(got, "roots") {
		t.Error(got)
	}
	if got := s.send(t.Context(), t, s.server.URL, "clerk", "user", session, `{"jsonrpc":"2.0","id":1,"method":"ping"}`); got.StatusCode != http.StatusNotFound {
		t.Error("a session of all agents at one agent: ", got.Status)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.other.URL+"/mcp", nil)
	s.must(err)
	r.Header = http.Header{"Accept": {"text/event-stream"}, "Authorization": {"Bearer " + s.keys["user"]}, wire.HeaderSession: {session}}
	stream, err := http.DefaultClient.Do(r)
	s.must(err)
	defer stream.Body.Close()
	s.sync(t, func(d *beeos.Definition) { d.Skills = append(d.Skills, beeos.Skill{Name: "grown"}) })
	if got := string(nextEvent(t, bufio.NewScanner(stream.Body))); !strings.Contains(got, "tools/list_changed") {
		t.Error(got)
	}
}

func TestUnionOfMany(t *testing.T) {
	s := newStack(t)
	s.sync(t, func(d *beeos.Definition) {
		for i := range 100 {
			d.Skills = append(d.Skills, beeos.Skill{Name: "tool_" + strconv.Itoa(i), Description: "Paints the fence number " + strconv.Itoa(i) + "."})
		}
	})
	if got := listed(s.allAnswer(t, "user", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)); got != "search_tools call_tool" {
		t.Errorf("listed: %s", got)
	}
	call := func(name, arguments string) []byte {
		return s.allAnswer(t, "user", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"`+name+`","arguments":`+arguments+`}}`)
	}
	found := []byte(field(call("search_tools", `{"query":"search the WEB","limit":1}`), "result", "structuredContent", "tools"))
	if !strings.HasPrefix(string(found), `[{"name":"clerk__web_search"`) || strings.Count(string(found), `"inputSchema"`) != 1 {
		t.Errorf("found: %s", found)
	}
	for name, arguments := range map[string]string{
		"call_tool":         `{"name":"clerk__web_search","arguments":{"query":"x"}}`,
		"clerk__web_search": `{"query":"x"}`,
	} {
		if got := call(name, arguments); !strings.Contains(string(got), `web_search {\"query\":\"x\"}`) {
			t.Errorf("%s: %s", name, got)
		}
	}
	for _, arguments := range []string{`{"name":"call_tool"}`, `{"name":"nope"}`, `{}`, `{"name":"clerk__web_search","arguments":5}`} {
		if got := call("call_tool", arguments); field(got, "error") == "" {
			t.Errorf("%s: %s", arguments, got)
		}
	}
}

// TestCallThroughNeedsNoHeaders: a stateless client repeats the arguments of
// the tool that it calls, and call_tool asks for none to be repeated.
func TestCallThroughNeedsNoHeaders(t *testing.T) {
	s := newStack(t)
	s.sync(t, func(d *beeos.Definition) {
		for i := range 100 {
			d.Skills = append(d.Skills, beeos.Skill{Name: "tool_" + strconv.Itoa(i)})
		}
	})
	for name, params := range map[string]string{
		"call_tool":     `{"name":"clerk__headed","arguments":{"region":"north"}}`,
		"clerk__headed": `{"region":"north"}`,
	} {
		r := s.modernRequest(t.Context(), t, s.server.URL, "user", "tools/call", name, `{}`, `"name":"`+name+`","arguments":`+params)
		r.URL.Path = "/mcp"
		resp, err := http.DefaultClient.Do(r)
		s.must(err)
		defer resp.Body.Close()
		answer, err := io.ReadAll(resp.Body)
		s.must(err)
		if called := strings.Contains(string(answer), `headed {\"region\":\"north\"}`); called != (name == "call_tool") {
			t.Errorf("%s without Mcp-Param-Region: %s", name, answer)
		}
	}
}
