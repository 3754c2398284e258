package page

import (
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/surface/web/safetext"
)

// AgentRow is an agent in a list, or at the head of a page about it.
type AgentRow struct {
	ID, Name, Slug, Title, Text string
	InstanceID                  string
	Online, Active, MCP         bool
	Builtin, Stopped            bool
	Visibility                  beeos.Visibility
	Skills                      int
}

// AgentTitle is what people call an agent.
func AgentTitle(a *beeos.Agent) string {
	if t := safetext.Line(a.Definition.DisplayName, 60); t != "" {
		return t
	}
	return safetext.Line(a.Name, 60)
}

// ApprovalCard is a tool call that waits, or waited, for a person.
type ApprovalCard struct {
	ID, Tool, Agent, Caller string
	Arguments               []safetext.Piece
	At, Until, Decided      time.Time
	Open                    bool
	State, Mood             string
	By, Via, Reason         string
	Back                    string // the page to return to; empty = the inbox
}
