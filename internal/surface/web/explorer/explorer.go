// Package explorer is the part of the console where owners see the calls to
// their agents: the list with its filters (list.go), the page of one call
// (call.go), with what happened to it as bars in time (bars.go) and moment by moment
// (moments.go), the form and the command that make it again (replay.go, curl.go), and
// two calls side by side (compare.go).
package explorer

import (
	"cmp"
	"context"
	"embed"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/access/act"
	"github.com/beeos/beeos/internal/store/agents"
	"github.com/beeos/beeos/internal/store/approvals"
	"github.com/beeos/beeos/internal/store/builtins"
	"github.com/beeos/beeos/internal/store/calls"
	"github.com/beeos/beeos/internal/surface/web/page"
	"github.com/beeos/beeos/internal/surface/web/safetext"
)

//go:embed templates
var templates embed.FS

// Options is what the explorer stands on.
type Options struct {
	Pages    *page.Server
	Agents   *agents.Table
	Builtins *builtins.Table
	Acts     *act.Acts
	Now      func() time.Time
	RESTURL  string // where programs reach agents; empty = they do not
	MCPURL   string // and over MCP

	// What other rooms of the console know.
	NameCallers   func(ctx context.Context, v *page.Visitor) func(principal string) string
	ShowApprovals func(ctx context.Context, v *page.Visitor, list []approvals.Approval) []page.ApprovalCard
}

// Explorer serves the pages of calls.
type Explorer struct{ Options }

// Mount adds the templates and routes to the console.
func Mount(opt Options) (*Explorer, error) {
	e := &Explorer{opt}
	if err := e.Pages.AddTemplates(templates); err != nil {
		return nil, err
	}
	e.Pages.Handle("GET /calls", page.SignedIn, e.showCalls)
	e.Pages.Handle("GET /calls/live", page.SignedIn, page.Live(e.showCalls))
	e.Pages.Handle("GET /calls/{call}", page.SignedIn, e.showCall)
	e.Pages.Handle("GET /calls/{call}/live", page.SignedIn, page.Live(e.showCall))
	e.Pages.Handle("POST /calls/{call}/replay", page.SignedIn, page.Form(e.replayCall, e.showCall))
	e.Pages.Handle("GET /calls/{call}/compare/{other}", page.SignedIn, e.compareCalls)
	e.Pages.Handle("GET /calls/{call}/compare/{other}/live", page.SignedIn, page.Live(e.compareCalls))
	return e, nil
}

// Latest returns the newest calls to an agent of the visitor's, or to all of them.
func (e *Explorer) Latest(ctx context.Context, v *page.Visitor, agentID string, limit int) ([]page.CallRow, error) {
	found, err := e.Acts.Calls(ctx, v.Caller(), act.CallFilter{AgentID: agentID, Filter: calls.Filter{Limit: limit}})
	if err != nil {
		return nil, err
	}
	return e.describeCalls(ctx, v, found)
}

// describeCalls makes calls rows of a page.
func (e *Explorer) describeCalls(ctx context.Context, v *page.Visitor, found []calls.Call) ([]page.CallRow, error) {
	names := e.NameCallers(ctx, v)
	titles := page.NameAgents(func(id string) (*beeos.Agent, error) { return e.Agents.Get(ctx, id) })
	rows := make([]page.CallRow, len(found))
	for i, c := range found {
		rows[i] = page.CallRow{
			ID: c.Turn, At: c.Began, Surface: c.Route.Surface, Caller: names(c.Route.Caller), AgentID: c.Route.AgentID, Agent: titles(c.Route.AgentID),
			What: safetext.Line(cmp.Or(c.Route.Tool, "message"), 60), Took: c.Took,
		}
		rows[i].Outcome, rows[i].Mood = describeOutcome(c.Outcome)
		if c.Outcome == calls.Working {
			rows[i].Took = 0 // a list that counts would never rest
		}
	}
	return rows, nil
}

// describeOutcome says an outcome in words, and how it is coloured.
func describeOutcome(o calls.Outcome) (words, mood string) {
	switch o {
	case calls.Working:
		return "working", "busy"
	case calls.OK:
		return "ok", "good"
	case calls.Canceled:
		return "stopped", "good"
	case calls.TimedOut:
		return "timed out", "bad"
	case calls.Lost:
		return "agent lost", "bad"
	}
	return o.String(), "bad"
}
