// Package playground is the part of the console where owners try the tools of
// their agents: the list of them, and for each a page (tool.go) with a form that
// is made of its schema (fields.go) and read back into arguments (arguments.go).
// What is tried is a call like any other (run.go), and has a page among the calls.
package playground

import (
	"cmp"
	"context"
	"embed"
	"encoding/json"
	"net/url"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/access/act"
	"github.com/beeos/beeos/internal/engine/invoke"
	"github.com/beeos/beeos/internal/store/approvals"
	"github.com/beeos/beeos/internal/surface/web/page"
	"github.com/beeos/beeos/internal/surface/web/safetext"
)

//go:embed templates
var templates embed.FS

// Options is what the playground stands on.
type Options struct {
	Pages *page.Server
	Acts  *act.Acts
	Calls *invoke.Calls

	// What other rooms of the console know.
	FindAgent     func(r *page.Request) (*beeos.Agent, error)
	DescribeAgent func(ctx context.Context, a *beeos.Agent) (page.AgentRow, error)
	ShowApprovals func(ctx context.Context, v *page.Visitor, list []approvals.Approval) []page.ApprovalCard
}

// Playground serves the pages of tools.
type Playground struct{ Options }

// Mount adds the templates and routes to the console.
func Mount(opt Options) error {
	p := &Playground{opt}
	if err := p.Pages.AddTemplates(templates); err != nil {
		return err
	}
	const one = "/agents/{agent}/tools/{tool}"
	show := page.With(p.findTool, p.showTool)
	p.Pages.Handle("GET /agents/{agent}/tools", page.SignedIn, page.With(p.FindAgent, p.showTools))
	p.Pages.Handle("GET "+one, page.SignedIn, show)
	p.Pages.Handle("GET "+one+"/live", page.SignedIn, page.Live(show))
	p.Pages.Handle("POST "+one, page.SignedIn, page.Form(page.With(p.findTool, p.runTool), show))
	p.Pages.Handle("POST "+one+"/stop", page.SignedIn, page.With(p.findTool, p.stopRun))
	p.Pages.Handle("GET "+one+"/{form}", page.SignedIn, page.With(p.findTool, redirectToTool))
	return nil
}

// tool is one of an agent of the visitor's.
type tool struct {
	agent *beeos.Agent
	skill *beeos.Skill
}

func (t tool) path() string {
	return "/agents/" + t.agent.ID + "/tools/" + url.PathEscape(t.skill.Name)
}

// findTool returns the tool of the path. A skill that is not offered as a tool
// cannot be called over any surface, and so not here.
func (p *Playground) findTool(r *page.Request) (t tool, err error) {
	if t.agent, err = p.FindAgent(r); err != nil {
		return t, err
	}
	for i := range t.agent.Definition.Skills {
		if s := &t.agent.Definition.Skills[i]; s.Name == r.PathValue("tool") && s.Exposed() {
			t.skill = s
			return t, nil
		}
	}
	return t, beeos.Errorf(beeos.NotFound, "this agent offers no such tool now; look at its tools to see which it does")
}

func redirectToTool(_ *page.Request, t tool) (page.Answer, error) {
	return page.Redirect(t.path(), ""), nil
}

// toolRow is a tool in a list, or at the head of a page about it.
type toolRow struct {
	Path              string
	Name, Title, Text string
	ReadOnly          bool // it says that it changes nothing
	Destructive       bool
	Offered           bool // callers see it as a tool
}

// describeTool says what a tool says of itself.
func describeTool(a *beeos.Agent, s *beeos.Skill) toolRow {
	row := toolRow{
		Path: tool{a, s}.path(), Name: safetext.Line(s.Name, 100), Title: safetext.Line(s.Title, 100), Text: safetext.Line(s.Description, 600), Offered: s.Exposed(),
	}
	var hints struct {
		ReadOnly    bool `json:"readOnlyHint"`
		Destructive bool `json:"destructiveHint"`
	}
	if json.Unmarshal(s.Annotations, &hints) == nil { // else it says nothing that counts
		row.ReadOnly, row.Destructive = hints.ReadOnly, hints.Destructive && !hints.ReadOnly
	}
	return row
}

// toolsData is the list of an agent's tools.
type toolsData struct {
	Row   page.AgentRow
	Tools []toolRow
	More  int // tools that there is no room for
}

// maxTools is how many tools a list shows.
const maxTools = 500

func (p *Playground) showTools(r *page.Request, a *beeos.Agent) (page.Answer, error) {
	row, err := p.DescribeAgent(r.Context(), a)
	d := toolsData{Row: row, More: max(0, len(a.Definition.Skills)-maxTools)}
	for i := range a.Definition.Skills[:min(len(a.Definition.Skills), maxTools)] {
		d.Tools = append(d.Tools, describeTool(a, &a.Definition.Skills[i]))
	}
	path := "/agents/" + a.ID
	return page.View{Page: "tools", Title: "Tools of " + row.Title, Room: "agents", Live: path + "/status/live", Here: path + "/tools", Data: d}, err
}

// label is what people call a tool.
func (t toolRow) Label() string { return cmp.Or(t.Title, t.Name) }
