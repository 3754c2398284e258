package page

import (
	"cmp"
	"encoding/json"
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
	Chats                       bool // it answers messages, not only calls of its tools
	Visibility                  beeos.Visibility
	Skills                      int
}

// Chats reports whether one can talk with an agent. One that stands for an MCP
// server says that it only has tools.
func Chats(a *beeos.Agent) bool {
	var declared struct {
		Chat *bool `json:"chat"`
	}
	return json.Unmarshal(a.Definition.Capabilities, &declared) != nil || declared.Chat == nil || *declared.Chat
}

// AgentTitle is what people call an agent.
func AgentTitle(a *beeos.Agent) string {
	return cmp.Or(safetext.Line(a.Definition.DisplayName, 60), safetext.Line(a.Name, 60))
}

// ProgramName is what people call a program that asks for their agents.
func ProgramName(name string) string {
	return cmp.Or(safetext.Line(name, 60), "A program without a name")
}

// Snippet is how one program is connected to an agent, ready to paste; the
// template "snippets" shows several.
type Snippet struct {
	ID, Title string
	Where     string // where it belongs
	Code      string
	Note      string
}

// CallRow is a call in a list, or at the head of a page about it.
type CallRow struct {
	ID      string
	At      time.Time
	Surface string
	Caller  string
	AgentID string
	Agent   string
	What    string
	Outcome string // in words
	Mood    string // good, bad or busy: what colour it has
	Took    time.Duration
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
	Votes                   string // how many have said yes of how many have to; empty = one is enough
	ReadOnly                bool   // the visitor sees it, and has no say in it
	Voted                   bool   // the visitor has said yes
	MayLast                 bool   // a yes may be for more than this call
}
