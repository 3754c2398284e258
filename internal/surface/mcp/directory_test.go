package mcp

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store/agents"
)

// read gets a document of the directory with a credential, or none.
func (s *stack) read(path, token string, headers ...string) (*http.Response, string) {
	s.t.Helper()
	r, err := http.NewRequest(http.MethodGet, s.server.URL+path, nil)
	s.must(err)
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultClient.Do(r)
	s.must(err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	s.must(err)
	return resp, string(body)
}

// show makes an agent visible as an owner does.
func (s *stack) show(agent string, v beeos.Visibility) {
	s.t.Helper()
	_, err := s.db.Agents.Update(s.t.Context(), s.agents[agent], agents.Patch{Visibility: &v})
	s.must(err)
}

// named replaces ids of agents by their names.
func (s *stack) named(text string) string {
	for name, id := range s.agents {
		text = strings.ReplaceAll(text, id, name)
	}
	return text
}

// catalogued returns what a reader finds in the catalog, following catalogs that it names.
func (s *stack) catalogued(token string) (urls []string) {
	s.t.Helper()
	for path := "/.well-known/ai-catalog.json"; path != ""; {
		resp, body := s.read(path, token)
		var c struct {
			SpecVersion string
			Host        struct{ DisplayName string }
			Entries     []struct{ Identifier, DisplayName, MediaType, Type, URL string }
		}
		s.must(json.Unmarshal([]byte(body), &c))
		if resp.StatusCode != 200 || resp.Header.Get("Content-Type") != "application/ai-catalog+json" || c.SpecVersion != "1.0" || c.Host.DisplayName == "" || c.Entries == nil {
			s.t.Fatalf("%s %v %s", resp.Status, resp.Header, body)
		}
		path = ""
		for _, e := range c.Entries {
			if e.Type != e.MediaType || e.DisplayName == "" || !strings.HasPrefix(e.Identifier, "urn:air:mcp.example.com:") {
				s.t.Errorf("%+v", e)
			}
			if e.Type == "application/ai-catalog+json" {
				path = strings.TrimPrefix(e.URL, publicURL)
				continue
			}
			urls = append(urls, s.named(e.URL))
		}
	}
	slices.Sort(urls)
	return urls
}

// TestCatalogShowsWhatTheReaderMayCall: a key, an app and a person each find what
// is theirs, and what is in the marketplace only whoever may call it.
func TestCatalogShowsWhatTheReaderMayCall(t *testing.T) {
	s := newStack(t)
	both := func(names ...string) (urls []string) {
		for _, name := range names {
			urls = append(urls, publicURL+"/"+name+"/mcp/server-card", "https://a2a.example.com/"+name+"/.well-known/agent-card.json")
		}
		slices.Sort(urls)
		return urls
	}
	all, one := s.token(publicURL+"/mcp"), s.token(publicURL+"/mcp", "talker")
	expect := func(when string, want map[string][]string) {
		t.Helper()
		for who, token := range map[string]string{
			"nobody": "", "owner": s.keys["user"], "stranger": s.keys["stranger"], "clerk's key": s.keys["clerk"], "app of all": all, "app of one": one,
		} {
			if diff := cmp.Diff(want[who], s.catalogued(token)); diff != "" {
				t.Errorf("%s, %s (-want +got):\n%s", when, who, diff)
			}
		}
	}
	mine := map[string][]string{
		"owner": both("clerk", "talker", "quiet"), "clerk's key": both("clerk"), "app of all": both("clerk", "talker", "quiet"), "app of one": both("talker"),
	}
	expect("all private", mine)
	s.show("talker", beeos.VisibleUnlisted)
	s.show("quiet", beeos.VisiblePublic)
	expect("unlisted and public", mine)
	s.show("clerk", beeos.VisibleMarketplace)
	mine["stranger"] = both("clerk")
	expect("in the marketplace", mine)
	if resp, body := s.read("/.well-known/ai-catalog.json", "oag_"+strings.Repeat("x", 43)); resp.StatusCode != 401 || resp.Header.Get("WWW-Authenticate") == "" {
		t.Errorf("a wrong key: %s %v %s", resp.Status, resp.Header, body)
	}
}

// TestServerCards: a card says what its schema wants and what initialize says, to
// those who may see the agent; and nothing else says that there is one.
func TestServerCards(t *testing.T) {
	s := newStack(t)
	path := func(agent string) string { return "/" + s.agents[agent] + "/mcp/server-card" }
	resp, body := s.read(path("clerk"), s.keys["user"])
	var card struct {
		Schema                            string `json:"$schema"`
		Name, Title, Description, Version string
		Remotes                           []struct {
			Type, URL                 string
			SupportedProtocolVersions []string
		}
	}
	s.must(json.Unmarshal([]byte(body), &card))
	if resp.StatusCode != 200 || resp.Header.Get("Content-Type") != "application/mcp-server-card+json" || !strings.HasPrefix(resp.Header.Get("Cache-Control"), "private") {
		t.Fatalf("%s %v", resp.Status, resp.Header)
	}
	if card.Schema != "https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json" || card.Title != "The Clerk" || card.Version != "1.2.3" || card.Description != "Does small things." ||
		card.Name != "com.example.mcp/"+s.agents["clerk"] || !regexp.MustCompile(`^[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+$`).MatchString(card.Name) {
		t.Errorf("%s", body)
	}
	if len(card.Remotes) != 1 || card.Remotes[0].Type != "streamable-http" || card.Remotes[0].URL != s.endpoint("clerk") || !slices.Contains(card.Remotes[0].SupportedProtocolVersions, "2025-11-25") {
		t.Errorf("remotes: %+v", card.Remotes)
	}
	if _, initialized := s.call(t, "/"+s.agents["clerk"]+"/mcp", s.keys["user"], `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`); !strings.Contains(initialized, `"version":"1.2.3"`) {
		t.Errorf("initialize says another version: %s", initialized)
	}

	s.show("talker", beeos.VisibleUnlisted)
	shown, open := s.read(path("talker"), "", "Origin", "https://page.example")
	if shown.StatusCode != 200 || !strings.HasPrefix(shown.Header.Get("Cache-Control"), "public") || shown.Header.Get("Access-Control-Allow-Origin") != "https://page.example" || !strings.Contains(open, "Talks.") {
		t.Errorf("of an agent that is not private: %s %v %s", shown.Status, shown.Header, open)
	}
	if again, body := s.read(path("talker"), "", "If-None-Match", shown.Header.Get("ETag")); again.StatusCode != 304 || body != "" {
		t.Errorf("again: %s %s", again.Status, body)
	}
	absent, nothing := s.read("/agent_nowhere/mcp/server-card", s.keys["user"])
	for what, ask := range map[string][2]string{
		"private to nobody": {"clerk", ""}, "private to a stranger": {"clerk", s.keys["stranger"]}, "private to another agent's key": {"clerk", s.keys["talker"]}, "closed to its owner": {"closed", s.keys["user"]},
	} {
		if resp, body := s.read(path(ask[0]), ask[1]); resp.StatusCode != absent.StatusCode || absent.StatusCode != 404 || body != nothing {
			t.Errorf("%s: %s %s, absent: %s", what, resp.Status, body, nothing)
		}
	}
}

// TestRegistry: clients of MCP registries find their agents, page by page, and
// read one by its name.
func TestRegistry(t *testing.T) {
	s := newStack(t)
	type page struct {
		Servers []struct {
			Server struct {
				Schema        string `json:"$schema"`
				Name, Version string
				Remotes       []struct{ Type, URL string }
			}
			Meta map[string]struct {
				Status   string
				IsLatest bool
			} `json:"_meta"`
		}
		Metadata struct {
			NextCursor string
			Count      int
		}
	}
	list := func(query, token string) (names []string, next string) {
		t.Helper()
		resp, body := s.read("/v0.1/servers"+query, token)
		var p page
		s.must(json.Unmarshal([]byte(body), &p))
		if resp.StatusCode != 200 || p.Servers == nil || p.Metadata.Count != len(p.Servers) {
			t.Fatalf("%s: %s %s", query, resp.Status, body)
		}
		for _, l := range p.Servers {
			if !strings.HasPrefix(l.Server.Schema, "https://static.modelcontextprotocol.io/schemas/20") || len(l.Server.Remotes) != 1 || !l.Meta["io.modelcontextprotocol.registry/official"].IsLatest {
				t.Errorf("%+v", l)
			}
			names = append(names, strings.TrimPrefix(s.named(l.Server.Name), "com.example.mcp/"))
		}
		return names, p.Metadata.NextCursor
	}
	var paged []string
	for cursor := ""; ; {
		names, next := list("?limit=1&cursor="+url.QueryEscape(cursor), s.keys["user"])
		paged = append(paged, names...)
		if cursor = next; cursor == "" {
			break
		}
	}
	whole, _ := list("", s.keys["user"])
	if slices.Sort(paged); !slices.Equal(paged, []string{"clerk", "quiet", "talker"}) || len(whole) != 3 {
		t.Errorf("page by page: %v, at once: %v", paged, whole)
	}
	later := url.QueryEscape(time.Now().Add(time.Hour).Format(time.RFC3339))
	for query, want := range map[string][]string{
		"?search=small+things": {"clerk"}, "?search=nowhere": nil, "?version=1.2.3": {"clerk"}, "?updated_since=" + later: nil, "?updated_since=2020-01-01T00:00:00Z&search=talks&version=latest": {"talker"},
	} {
		if got, _ := list(query, s.keys["user"]); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", query, got, want)
		}
	}
	if got, _ := list("", s.keys["stranger"]); got != nil {
		t.Errorf("a stranger finds %v", got)
	}

	name := "/v0.1/servers/" + url.PathEscape("com.example.mcp/"+s.agents["clerk"])
	for path, status := range map[string]int{
		name + "/versions": 200, name + "/versions/latest": 200, name + "/versions/1.2.3": 200, name + "/versions/9": 404, name: 404, name + "/versions/latest/x": 404,
		"/v0.1/servers/" + url.PathEscape("com.example.mcp/"+s.agents["closed"]) + "/versions/latest": 404, "/v0.1/servers/" + url.PathEscape("com.example/x") + "/versions": 404,
		"/v0.1/servers?limit=0": 400, "/v0.1/servers?updated_since=monday": 400,
	} {
		if resp, body := s.read(path, s.keys["user"]); resp.StatusCode != status {
			t.Errorf("%s: %s %s, want %d", path, resp.Status, body, status)
		}
	}
	if resp, body := s.read(name+"/versions/latest", s.keys["user"]); !strings.Contains(body, `"server":{`) || strings.Contains(body, `"servers"`) {
		t.Errorf("%s %s", resp.Status, body)
	}
	if resp, _ := s.read(name+"/versions/latest", s.keys["stranger"]); resp.StatusCode != 404 {
		t.Errorf("a stranger: %s", resp.Status)
	}
	if resp, body := s.read("/v0.1/servers", ""); resp.StatusCode != 401 || !strings.Contains(resp.Header.Get("WWW-Authenticate"), "resource_metadata=") {
		t.Errorf("nobody: %s %v %s", resp.Status, resp.Header, body)
	}
}
