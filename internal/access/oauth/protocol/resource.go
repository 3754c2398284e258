package protocol

import "strings"

// AgentScope before an agent's id is the scope that reaches it; AllScope
// reaches all of a person's.
const (
	AgentScope = "agent:"
	AllScope   = "agents"
)

// Bases are the URLs below which this server has MCP endpoints. The first one is
// the issuer; a resource below another is the same as that below the issuer, and
// is known by that name from then on.
type Bases []string

// Parse is ParseResource for what a client says.
func (b Bases) Parse(resource string) (canonical, agentID string, ok bool) {
	for _, base := range b {
		if rest, below := strings.CutPrefix(resource, base); below && (rest == "" || rest[0] == '/') {
			return ParseResource(b[0], b[0]+rest)
		}
	}
	return ParseResource(b[0], resource)
}

// ParseResource reads a resource of an issuer: an agent's endpoint, that of all
// agents, or the gateway as a whole, which none also means.
func ParseResource(issuer, resource string) (canonical, agentID string, ok bool) {
	rest, ok := strings.CutPrefix(resource, issuer)
	if resource == "" || ok && (rest == "" || rest == "/") {
		return issuer, "", true
	}
	if rest == "/mcp" && ok {
		return resource, "", true
	}
	id, found := strings.CutSuffix(rest, "/mcp")
	if !ok || !found || len(id) < 2 || id[0] != '/' || !IsAgentID(id[1:]) {
		return "", "", false
	}
	return resource, id[1:], true
}

// IsAgentID reports whether s can be an agent's id.
func IsAgentID(s string) bool {
	return s != "" && len(s) <= 64 && !strings.ContainsFunc(s, func(c rune) bool {
		return c != '_' && c != '-' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z')
	})
}

// Read reads the parameter that names a resource, which may be given once.
func (b Bases) Read(values []string) (string, *Error) {
	if len(values) > 1 {
		return "", Refuse("invalid_target", "give one resource")
	}
	canonical, _, ok := b.Parse(strings.Join(values, ""))
	if !ok {
		return "", Refuse("invalid_target", "resource is the URL of an MCP endpoint of this server")
	}
	return canonical, nil
}
