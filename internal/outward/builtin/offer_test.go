package builtin_test

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/outward/builtin"
	"github.com/beeos/beeos/internal/outward/llm"
	"github.com/beeos/beeos/internal/outward/skill"
)

// TestSkillsAreToolsForCallers: callers see the skills of a built-in agent as those
// of every other, call them in words, and do not reach the tools behind them.
func TestSkillsAreToolsForCallers(t *testing.T) {
	srv := skillServer(t)
	s := start(t, builtin.Options{Model: llm.Script(func(r llm.Request) []llm.Delta {
		return []llm.Delta{{Text: r.Messages[len(r.Messages)-1].Text + "|" + r.System}}
	})})
	servers := []skill.Server{{Name: "files", URL: srv.URL, Description: "Saves invoices.", AutoApprove: true}, {Name: "books", URL: srv.URL + "/b"}}
	_, id := s.create(t, builtin.Definition{Name: "clerk", Servers: servers}, nil)
	session := s.mcp(t, id)
	tools, err := session.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range tools.Tools {
		names = append(names, tool.Name+": "+tool.Description)
	}
	for _, want := range []string{"files: Saves invoices.", "books: Ask clerk to use its skill books."} {
		if !slices.Contains(names, want) {
			t.Errorf("no %q among %q", want, names)
		}
	}
	if slices.ContainsFunc(tools.Tools, func(tool *mcp.Tool) bool { return strings.Contains(tool.Name, "save_csv") }) {
		t.Errorf("a tool behind a skill is offered: %q", names)
	}
	got, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "files", Arguments: map[string]any{"message": "file it"}})
	if err != nil || got.IsError || !strings.HasPrefix(got.Content[0].(*mcp.TextContent).Text, "file it|") || !strings.Contains(got.Content[0].(*mcp.TextContent).Text, `The caller asks for your skill "files"`) {
		t.Errorf("%+v, %v", got, err)
	}
	registry, err := session.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "beeos://agent/skills"})
	if err != nil || !strings.Contains(registry.Contents[0].Text, "Saves invoices.") {
		t.Errorf("%+v, %v", registry, err)
	}
	if body := s.read(t, s.REST+"/api/v1/agents/"+id); !strings.Contains(body, "Saves invoices.") {
		t.Errorf("REST does not tell: %s", body)
	}
}

// read gets a page as the owner.
func (s *stack) read(t *testing.T, address string) string {
	t.Helper()
	resp, err := (&http.Client{Transport: bearer(s.UserKey)}).Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

func TestDescriptionOfASkill(t *testing.T) {
	s := start(t, builtin.Options{})
	servers, _, err := builtin.ParseServers(json.RawMessage(`{"files": {"url": "https://files.example/mcp", "description": "Saves invoices."}}`))
	if err != nil || servers[0].Description != "Saves invoices." {
		t.Errorf("%+v, %v", servers, err)
	}
	for _, text := range []string{"a\u202eb", strings.Repeat("x", 1025)} {
		_, err := s.rt.Create(t.Context(), s.owner, builtin.Definition{Name: "x", Servers: []skill.Server{{Name: "files", URL: "https://x", Description: text}}}, nil)
		if beeos.CodeOf(err) != beeos.InvalidParam {
			t.Errorf("%.20q: %v", text, err)
		}
	}
}
