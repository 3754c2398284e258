package switchboard

import (
	"slices"
	"strings"
)

// The surfaces, by the names that they have everywhere.
const (
	Web    = "web"
	MCP    = "mcp"
	A2A    = "a2a"
	REST   = "rest"
	Agents = "agents"
)

const (
	agentID   = "agent_" // what ids of agents begin with, and no page does
	wellKnown = ".well-known"

	mcpRegistry = "v0.1" // the version that registries of MCP servers have in their paths
)

var (
	a2aDocuments = []string{"agent-card.json", "agent.json", "jwks.json"}
	mcpDoors     = []string{"mcp", "sse", "messages"}
	gatewayPaths = []string{"join", "sync", "connect", "poll", "frames", "files"}
)

// Route returns the surface that a path belongs to, where one host serves them
// all. Empty segments do not count.
func Route(path string) string {
	p := strings.FieldsFunc(path, func(c rune) bool { return c == '/' })
	if len(p) == 0 {
		return Web
	}
	if i := lastIndex(p, wellKnown); i >= 0 {
		if i == len(p)-2 && slices.Contains(a2aDocuments, p[i+1]) {
			return A2A
		}
		return MCP
	}
	switch {
	case p[0] == "oauth", p[0] == "mcp" && len(p) == 1, p[0] == mcpRegistry:
		return MCP
	case isGateway(p):
		return Agents
	case slices.Contains([]string{"api", "channels", "files", "openapi.json", "docs"}, p[0]):
		return REST
	case strings.HasPrefix(p[0], agentID):
		if len(p) == 2 && slices.Contains(mcpDoors, p[1]) || len(p) == 3 && p[1] == "mcp" && p[2] == "server-card" {
			return MCP
		}
		return A2A
	}
	return Web
}

// isGateway tells what agents say to the gateway from what owners say about
// agents to REST, which is below the same path.
func isGateway(p []string) bool {
	if len(p) < 4 || p[0] != "api" || p[1] != "v1" || p[2] != "agents" {
		return false
	}
	return len(p) == 4 && slices.Contains(gatewayPaths, p[3]) || p[3] == "channels"
}

func lastIndex(list []string, s string) int {
	for i := len(list) - 1; i >= 0; i-- {
		if list[i] == s {
			return i
		}
	}
	return -1
}
