package mcp

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/bus"
	"github.com/beeos/beeos/internal/surface/mcp/wire"
	"github.com/beeos/beeos/internal/wire/strictjson"
)

// ask sends a request to the endpoint of all agents and returns the answer.
func (s *stack) ask(t *testing.T, key, method, params string) []byte {
	t.Helper()
	return s.allAnswer(t, key, `{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":{`+params+`}}`)
}

// members returns one member of each element of a list.
func members(answer []byte, list, member string) (values []string) {
	for item := range strictjson.Elements([]byte(field(answer, "result", list))) {
		v, _ := strictjson.StringField(item, member)
		values = append(values, v)
	}
	return values
}

// TestUnionResources: every agent's, under its name, and none that the
// credential does not reach.
func TestUnionResources(t *testing.T) {
	s := newStack(t)
	uris := members(s.ask(t, "user", "resources/list", ""), "resources", "uri")
	for _, want := range []string{
		"beeos://clerk/beeos://agent/config", "beeos://talker/beeos://agent/config", "beeos://talker/beeos://agent/skills",
		"beeos://clerk/note://kind", "beeos://clerk/skill://filing/SKILL.md",
	} {
		if !slices.Contains(uris, want) {
			t.Errorf("%s is not in %v", want, uris)
		}
	}
	if got := members(s.ask(t, "user", "resources/templates/list", ""), "resourceTemplates", "uriTemplate"); len(got) != 1 || got[0] != "beeos://clerk/note://by/{author}" {
		t.Errorf("templates: %v", got)
	}
	if got := members(s.ask(t, "talker", "resources/list", ""), "resources", "uri"); len(got) != 2 {
		t.Errorf("an agent key's: %v", got)
	}
	for _, tt := range []struct{ key, uri, want string }{
		{"user", "beeos://clerk/note://kind", `{"contents":[{"uri":"beeos://clerk/note://kind","mimeType":"text/plain","text":"Be kind."}]}`},
		{"user", "beeos://clerk/note://live", `{"contents":[{"uri":"beeos://clerk/note://live","text":"fresh"}]}`},
		{"user", "beeos://clerk/note://by/Ann", `{"contents":[{"uri":"beeos://clerk/note://by/Ann","text":"by {\"uri\":\"note://by/Ann\"}"}]}`},
		{"user", "note://kind", ""},
		{"user", "beeos://talker/note://kind", ""},
		{"user", "beeos://closed/beeos://agent/config", ""},
		{"user", "beeos://agent/config", ""},
		{"user", "beeos://", ""},
		{"talker", "beeos://clerk/note://kind", ""},
		{"stranger", "beeos://clerk/note://kind", ""},
	} {
		answer := s.ask(t, tt.key, "resources/read", `"uri":"`+tt.uri+`"`)
		if field(answer, "result") != tt.want || tt.want == "" && (field(answer, "error", "code") != "-32002" || field(answer, "error", "data", "uri") != `"`+tt.uri+`"`) {
			t.Errorf("%s reads %s: %s", tt.key, tt.uri, answer)
		}
	}
	for _, name := range []string{"clerk", "talker"} {
		answer := s.ask(t, "user", "resources/read", `"uri":"beeos://`+name+`/beeos://agent/config"`)
		if !strings.Contains(string(answer), `\"id\":\"`+s.agents[name]+`\"`) {
			t.Errorf("%s: %s", name, answer)
		}
	}
	// A tool's links lead to where the client can read them; the world's stay.
	answer := s.ask(t, "user", "tools/call", `"name":"clerk__rich"`)
	if !strings.Contains(string(answer), `"uri":"beeos://clerk/note://kind"`) {
		t.Errorf("links: %s", answer)
	}
}

func TestUnionPrompts(t *testing.T) {
	s := newStack(t)
	if got := members(s.ask(t, "user", "prompts/list", ""), "prompts", "name"); strings.Join(got, " ") != "clerk__greet clerk__live" {
		t.Errorf("listed: %v", got)
	}
	if got := members(s.ask(t, "talker", "prompts/list", ""), "prompts", "name"); got != nil {
		t.Errorf("an agent key's: %v", got)
	}
	for _, tt := range []struct{ key, method, params, want string }{
		{"user", "prompts/get", `"name":"clerk__greet","arguments":{"who":"Ann"}`, `Greet Ann <b>now</b>.`},
		{"user", "prompts/get", `"name":"clerk__greet"`, `-32602`},
		{"user", "prompts/get", `"name":"clerk__live"`, `"text":"live"`},
		{"user", "prompts/get", `"name":"greet"`, `-32602`},
		{"talker", "prompts/get", `"name":"clerk__live"`, `-32602`},
		{"user", "completion/complete", `"ref":{"type":"ref/prompt","name":"clerk__greet"},"argument":{"name":"who","value":"A"}`, `"Anton"`},
		{"user", "completion/complete", `"ref":{"type":"ref/resource","uri":"beeos://clerk/note://by/{author}"},"argument":{"name":"author","value":"A"}`, `"Anton"`},
		{"user", "completion/complete", `"ref":{"type":"ref/resource","uri":"note://by/{author}"},"argument":{"name":"author","value":"A"}`, `-32602`},
		{"user", "completion/complete", `"ref":{"type":"ref/prompt","name":"greet"},"argument":{"name":"who","value":"A"}`, `-32602`},
		{"talker", "completion/complete", `"ref":{"type":"ref/prompt","name":"clerk__greet"},"argument":{"name":"who","value":"A"}`, `-32602`},
	} {
		if got := s.ask(t, tt.key, tt.method, tt.params); !strings.Contains(string(got), tt.want) {
			t.Errorf("%s: %s %s: %s", tt.key, tt.method, tt.params, got)
		}
	}
	for _, f := range s.frames() {
		if strings.Contains(string(f.Payload), "clerk__") || strings.Contains(string(f.Payload), "beeos://clerk/") {
			t.Errorf("the agent was asked in names that are not its own: %s", f.Payload)
		}
	}
}

// TestUnionSubscriptions: updates come under the names that the client knows,
// and only those of its agents.
func TestUnionSubscriptions(t *testing.T) {
	s := newStack(t)
	resp, _ := s.all(t, s.server.URL, "user", "", `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}`)
	session := resp.Header.Get(wire.HeaderSession)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.other.URL+"/mcp", nil)
	s.must(err)
	r.Header = http.Header{"Accept": {"text/event-stream"}, "Authorization": {"Bearer " + s.keys["user"]}, wire.HeaderSession: {session}}
	stream, err := http.DefaultClient.Do(r)
	s.must(err)
	defer stream.Body.Close()
	events := bufio.NewScanner(stream.Body)
	for _, tt := range []struct{ uri, want string }{{"beeos://clerk/note://live", "result"}, {"note://live", "error"}, {"beeos://talker/note://live", "error"}} {
		resp, _ := s.all(t, s.server.URL, "user", session, `{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"`+tt.uri+`"}}`)
		body, err := io.ReadAll(resp.Body)
		s.must(err)
		if field(body, tt.want) == "" {
			t.Errorf("%s: %s", tt.uri, body)
		}
	}
	for _, n := range []bus.Control{
		{Kind: bus.ResourceUpdated, AgentID: s.agents["talker"], ID: "note://live"},
		{Kind: bus.ResourceUpdated, AgentID: s.agents["clerk"], ID: "note://kind"},
		{Kind: bus.ResourceUpdated, AgentID: s.agents["clerk"], ID: "note://live"},
	} {
		s.bus.Control(n)
	}
	if got := field(nextEvent(t, events), "params"); got != `{"uri":"beeos://clerk/note://live"}` {
		t.Error(got)
	}
	s.sync(t, func(d *beeos.Definition) { d.Prompts = append(d.Prompts, beeos.Prompt{Name: "grown"}) })
	if got := string(nextEvent(t, events)); !strings.Contains(got, "prompts/list_changed") {
		t.Error(got)
	}
	s.bus.Control(bus.Control{Kind: bus.ResourceUpdated, AgentID: s.agents["clerk"], ID: "note://live"})
	if got := field(nextEvent(t, events), "params"); got != `{"uri":"beeos://clerk/note://live"}` {
		t.Error("after a change: ", got)
	}
}

// TestUnionPages: many agents' resources come in pages, like one agent's.
func TestUnionPages(t *testing.T) {
	s := newStack(t)
	s.sync(t, func(d *beeos.Definition) {
		for i := range 250 {
			d.Resources = append(d.Resources, beeos.Resource{URI: "many://" + strconv.Itoa(i), Name: "n"})
		}
	})
	first := s.ask(t, "user", "resources/list", "")
	second := s.ask(t, "user", "resources/list", `"cursor":`+field(first, "result", "nextCursor"))
	if n, m := len(members(first, "resources", "uri")), len(members(second, "resources", "uri")); n != 250 || m == 0 || field(second, "result", "nextCursor") != "" {
		t.Errorf("%d and %d", n, m)
	}
}

// TestUnionForOfficialClient: a stateless client and one with a session find
// everything, skills included.
func TestUnionForOfficialClient(t *testing.T) {
	s := newStack(t)
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
		rr := &roundRobin{key: s.keys["user"], urls: []string{s.server.URL, s.other.URL}}
		session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: s.server.URL + "/mcp", HTTPClient: &http.Client{Transport: rr}}, &mcp.ClientSessionOptions{ProtocolVersion: version})
		s.must(err)
		var listed []string
		for r, err := range session.Resources(t.Context(), nil) {
			s.must(err)
			listed = append(listed, r.URI)
		}
		read, err := session.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "beeos://clerk/note://kind"})
		if err != nil || read.Contents[0].URI != "beeos://clerk/note://kind" || !slices.Contains(listed, read.Contents[0].URI) {
			t.Errorf("%s: %v %+v", version, err, read)
		}
		prompt, err := session.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "clerk__greet", Arguments: map[string]string{"who": "Ann"}})
		if err != nil || len(prompt.Messages) != 1 {
			t.Errorf("%s: %v %+v", version, err, prompt)
		}
		s.must(session.Close())
	}
	post := func(method, name, more string) []byte {
		r := s.modernRequest(context.Background(), t, s.server.URL, "user", method, name, `{}`, more)
		r.URL.Path = "/mcp"
		resp, err := http.DefaultClient.Do(r)
		s.must(err)
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		s.must(err)
		return body
	}
	const skill = "beeos://clerk/skill://filing/SKILL.md"
	if got := members(post("skills/list", "", ""), "skills", "uri"); len(got) != 1 || got[0] != skill {
		t.Errorf("skills: %v", got)
	}
	if got := post("skills/get", "", `"uri":"`+skill+`"`); !strings.Contains(field(got, "result", "skill", "resources"), `"uri":"beeos://clerk/skill://filing/forms/a.md"`) {
		t.Errorf("%s", got)
	}
	got := members(post("resources/directory/read", "", `"uri":"beeos://clerk/skill://filing"`), "resources", "uri")
	if want := []string{skill, "beeos://clerk/skill://filing/forms"}; !slices.Contains(got, want[0]) || !slices.Contains(got, want[1]) {
		t.Errorf("directory: %v", got)
	}
	if got := post("server/discover", "", ""); !strings.Contains(string(got), "io.modelcontextprotocol/skills") {
		t.Errorf("%s", got)
	}
}

// TestAppsInTheUnion: the page that a tool names can be read where the tool is
// listed, and is known by its scheme; whether clients show pages reaches the
// agent, and that there are pages the client.
func TestAppsInTheUnion(t *testing.T) {
	s := newStack(t)
	page := "<p>hi</p>"
	s.sync(t, func(d *beeos.Definition) {
		d.Skills = append(d.Skills, beeos.Skill{Name: "chart", Meta: json.RawMessage(`{"ui":{"resourceUri":"ui://clerk/chart.html","visibility":["app"]},"k":1}`)},
			beeos.Skill{Name: "old_chart", Meta: json.RawMessage(`{"ui/resourceUri":"ui://clerk/chart.html"}`)})
		d.Resources = append(d.Resources, beeos.Resource{URI: "ui://clerk/chart.html", Name: "chart", MIMEType: "text/html;profile=mcp-app", Text: &page})
	})
	const shows = `{"extensions":{"io.modelcontextprotocol/ui":{"mimeTypes":["text/html;profile=mcp-app"]}}}`
	ask := func(method, name, more string) []byte {
		t.Helper()
		r := s.modernRequest(t.Context(), t, s.server.URL, "user", method, name, shows, more)
		r.URL.Path = "/mcp"
		resp, err := http.DefaultClient.Do(r)
		s.must(err)
		defer resp.Body.Close()
		all, err := io.ReadAll(resp.Body)
		s.must(err)
		return all
	}
	if got := field(ask("server/discover", "", ""), "result", "capabilities", "extensions", "io.modelcontextprotocol/ui"); got != `{}` {
		t.Errorf("declared: %s", got)
	}
	tools := string(ask("tools/list", "", ""))
	for _, want := range []string{`"_meta":{"ui":{"resourceUri":"ui://clerk/clerk/chart.html","visibility":["app"]},"k":1}`, `"_meta":{"ui/resourceUri":"ui://clerk/clerk/chart.html"}`} {
		if !strings.Contains(tools, want) {
			t.Errorf("%s is not in %s", want, tools)
		}
	}
	if got := ask("resources/list", "", ""); !strings.Contains(string(got), `"uri":"ui://clerk/clerk/chart.html"`) {
		t.Errorf("%s", got)
	}
	const uri = "ui://clerk/clerk/chart.html"
	if got := ask("resources/read", uri, `"uri":"`+uri+`"`); !strings.Contains(field(got, "result", "contents"), page) || !strings.Contains(string(got), `"uri":"`+uri+`"`) {
		t.Errorf("%s", got)
	}
	if got := ask("tools/call", "clerk__what", `"name":"clerk__what"`); !strings.Contains(string(got), `\"ui\"`) {
		t.Errorf("what the agent knows of its client: %s", got)
	}
	_, own := s.modern(t, s.server.URL, "user", "tools/list", "", shows, "")
	if !strings.Contains(string(own), `"resourceUri":"ui://clerk/chart.html"`) {
		t.Errorf("at the agent's own endpoint: %s", own)
	}
	resp := s.send(t.Context(), t, s.server.URL, "clerk", "user", "", `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":`+shows+`}}`)
	all, err := io.ReadAll(resp.Body)
	s.must(err)
	if field(all, "result", "capabilities", "extensions") != `{"io.modelcontextprotocol/ui":{}}` {
		t.Errorf("%s", all)
	}
}
