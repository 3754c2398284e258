package web

import (
	"encoding/json"

	"github.com/beeos/beeos"
)

// snippet is how one program is connected to an agent, ready to paste.
type snippet struct {
	ID, Title string
	Where     string // where it belongs
	Code      string
	Note      string
}

// snippets are for MCP clients that sign in by themselves, and for programs
// that send a key. key is one that may be shown, or "".
func (s *Site) snippets(a *beeos.Agent, key string) []snippet {
	url, name := s.mcpURL(a.ID), a.Slug
	if key == "" {
		key = beeos.AgentKeyPrefix + "…"
	}
	const signsIn = "It opens this console once and asks you which agents it may use."
	return []snippet{
		{ID: "claude-code", Title: "Claude Code", Where: "In a terminal", Code: "claude mcp add --transport http " + name + " " + url, Note: signsIn},
		{
			ID: "claude-desktop", Title: "Claude Desktop", Where: "Settings → Developer → Edit Config",
			Code: config("mcpServers", name, map[string]any{"command": "npx", "args": []string{"-y", "mcp-remote", url}}),
			Note: "On a public https address, add the URL under Settings → Connectors instead. " + signsIn,
		},
		{ID: "cursor", Title: "Cursor", Where: "~/.cursor/mcp.json", Code: config("mcpServers", name, map[string]any{"url": url}), Note: signsIn},
		{ID: "vscode", Title: "VS Code", Where: ".vscode/mcp.json", Code: config("servers", name, map[string]any{"type": "http", "url": url}), Note: signsIn},
		{
			ID: "n8n", Title: "n8n", Where: "MCP Client Tool node",
			Code: "Endpoint          " + url + "\nServer Transport  HTTP Streamable\nAuthentication    Bearer Auth\nToken             " + key,
			Note: "Make a key below for the token; it reaches this agent only.",
		},
		{
			ID: "curl", Title: "curl", Where: "In a terminal",
			Code: "curl " + s.RESTURL + "/api/v1/agents/" + a.ID + "/invoke \\\n  -H 'Authorization: Bearer " + key + "' \\\n  --json '{\"message\":\"hello\"}'",
			Note: "Make a key below; it reaches this agent only.",
		},
	}
}

// config is the JSON that most clients keep: servers by name.
func config(section, name string, server any) string {
	b, err := json.MarshalIndent(map[string]any{section: map[string]any{name: server}}, "", "  ")
	if err != nil {
		panic("web: encode a snippet: " + err.Error()) // maps of strings always encode
	}
	return string(b)
}
