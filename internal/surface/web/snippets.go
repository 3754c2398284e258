package web

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/surface/web/page"
)

type snippet = page.Snippet

// keyNote stands below what sends a key.
const keyNote = "Make a key for it under Access; it reaches this agent only."

// listSnippets returns those for MCP clients that sign in by themselves, and for
// programs that send a key. key is one that may be shown, or "".
func (s *Surface) listSnippets(a *beeos.Agent, key string) []snippet {
	url, name := s.mcpURL(a.ID), a.Slug
	key = cmp.Or(key, beeos.AgentKeyPrefix+"…")
	const signsIn = "It opens this console once and asks you which agents it may use."
	return []snippet{
		{ID: "claude-code", Title: "Claude Code", Where: "In a terminal", Code: "claude mcp add --transport http " + name + " " + url, Note: signsIn},
		{
			ID: "claude-desktop", Title: "Claude Desktop", Where: "Settings → Developer → Edit Config",
			Code: formatConfig("mcpServers", name, map[string]any{"command": "npx", "args": []string{"-y", "mcp-remote", url}}),
			Note: "On a public https address, add the URL under Settings → Connectors instead. " + signsIn,
		},
		{ID: "cursor", Title: "Cursor", Where: "~/.cursor/mcp.json", Code: formatConfig("mcpServers", name, map[string]any{"url": url}), Note: signsIn},
		{ID: "vscode", Title: "VS Code", Where: ".vscode/mcp.json", Code: formatConfig("servers", name, map[string]any{"type": "http", "url": url}), Note: signsIn},
		{
			ID: "n8n", Title: "n8n", Where: "MCP Client Tool node",
			Code: "Endpoint          " + url + "\nServer Transport  HTTP Streamable\nAuthentication    Bearer Auth\nToken             " + key,
			Note: keyNote,
		},
		{
			ID: "curl", Title: "curl", Where: "In a terminal",
			Code: "curl " + s.RESTURL + "/api/v1/agents/" + a.ID + "/invoke \\\n  -H 'Authorization: Bearer " + key + "' \\\n  --json '{\"message\":\"hello\"}'",
			Note: keyNote,
		},
	}
}

// listKeySnippets returns the lines of listSnippets that send a key, with this one
// in them.
func (s *Surface) listKeySnippets(a *beeos.Agent, key string) []snippet {
	list := slices.DeleteFunc(s.listSnippets(a, key), func(sn snippet) bool { return sn.Note != keyNote })
	for i := range list {
		list[i].Note = ""
	}
	return list
}

// listOfferSnippets returns how an agent of anybody's is called. Apps that sign in
// by themselves reach only what their person owns, so all of these send a key.
func (s *Surface) listOfferSnippets(a *beeos.Agent) (list []snippet) {
	const key = beeos.UserKeyPrefix + "…"
	const note = "Put a key from API keys in the place of " + key + "; it acts as you."
	if a.MCPEnabled {
		url, headers := s.mcpURL(a.ID), map[string]any{"Authorization": "Bearer " + key}
		list = []snippet{
			{ID: "claude-code", Title: "Claude Code", Where: "In a terminal", Code: "claude mcp add --transport http " + a.Slug + " " + url + " \\\n  --header 'Authorization: Bearer " + key + "'", Note: note},
			{ID: "cursor", Title: "Cursor", Where: "~/.cursor/mcp.json", Code: formatConfig("mcpServers", a.Slug, map[string]any{"url": url, "headers": headers}), Note: note},
			{ID: "vscode", Title: "VS Code", Where: ".vscode/mcp.json", Code: formatConfig("servers", a.Slug, map[string]any{"type": "http", "url": url, "headers": headers}), Note: note},
		}
	}
	return append(list,
		snippet{ID: "beeos", Title: "beeos", Where: "In a terminal", Code: "beeos call " + a.ID + " hello", Note: "With BEEOS_URL and BEEOS_KEY set to this server and to a key of yours."},
		snippet{
			ID: "curl", Title: "curl", Where: "In a terminal",
			Code: "curl " + s.restURL(a.ID) + " \\\n  -H 'Authorization: Bearer " + key + "' \\\n  --json '{\"message\":\"hello\"}'", Note: note,
		})
}

// formatConfig writes the JSON that most clients keep: servers by name.
func formatConfig(section, name string, server any) string {
	b, err := json.MarshalIndent(map[string]any{section: map[string]any{name: server}}, "", "  ")
	if err != nil {
		panic("web: encode a snippet: " + err.Error()) // maps of strings always encode
	}
	return string(b)
}
