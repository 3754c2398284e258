package web

import (
	"net/url"
	"slices"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/surface/web/page"
	"github.com/beeos/beeos/internal/surface/web/safetext"
)

// agentData is the overview of one agent: what it is, whether it is there, how its
// calls went, and how it is reached.
type agentData struct {
	Agent    *beeos.Agent
	Row      page.AgentRow
	About    string // what it says about itself, in Markdown
	Facts    []fact
	MCP      string
	REST     string
	Snippets []snippet
	Card     *cardData // nil = there is no A2A here
	Activity activityData
	Calls    []page.CallRow
}

// fact is something about an agent in a few words.
type fact struct{ Name, Text string }

// latestCalls is how many calls an overview shows.
const latestCalls = 10

// findOwnAgent returns the agent of the path when it is the visitor's own. What
// is not looks the same as what does not exist.
func (s *Surface) findOwnAgent(r *page.Request) (*beeos.Agent, error) {
	a, err := s.Acts.OwnAgent(r.Context(), r.Caller(), r.PathValue("agent"))
	if beeos.CodeOf(err) == beeos.Forbidden {
		err = beeos.Errorf(beeos.AgentNotFound, "there is no such agent; check the id, or list your agents")
	}
	return a, err
}

func (s *Surface) showAgent(r *page.Request, a *beeos.Agent) (page.Answer, error) {
	ctx := r.Context()
	row, err := s.describeAgent(ctx, a)
	if err != nil {
		return nil, err
	}
	d := agentData{
		Agent: a, Row: row, About: a.Definition.Description, Facts: listFacts(a, row), MCP: s.mcpURL(a.ID), REST: s.restURL(a.ID), Snippets: s.listSnippets(a, ""),
	}
	if d.Card, err = s.loadCard(a); err != nil {
		return nil, err
	}
	var live string
	if d.Activity, live, err = s.loadActivity(r, "/agents/"+a.ID, a.ID, false); err != nil {
		return nil, err
	}
	d.Calls, err = s.explorer.Latest(ctx, r.Visitor, a.ID, latestCalls)
	return page.View{Page: "agent", Title: row.Title, Room: "agents", Live: live, Here: "/agents/" + a.ID, Data: &d}, err
}

// deliveryModes say how many requests an agent takes at once.
var deliveryModes = map[beeos.DeliveryMode]string{
	beeos.DeliverPush: "all at once", beeos.DeliverQueue: "one after the other, the rest wait", beeos.DeliverBusyReject: "one at a time, others are told that it is busy",
}

// listFacts returns what an agent is in a few words.
func listFacts(a *beeos.Agent, row page.AgentRow) []fact {
	kind := "a program of yours"
	if row.Builtin {
		kind = "built in"
	}
	list := []fact{
		{"Kind", kind},
		{"Version", safetext.Line(a.Definition.Version, 60)},
		{"Model", safetext.Line(a.Definition.Model, 60)},
		{"Takes requests", deliveryModes[a.Definition.DeliveryMode]},
		{"Visibility", string(a.Visibility)},
		{"Known since", a.CreatedAt.UTC().Format("2 Jan 2006")},
	}
	return slices.DeleteFunc(list, func(f fact) bool { return f.Text == "" })
}

// showAgentOverviewStatus shows what changes on the overview by itself.
func (s *Surface) showAgentOverviewStatus(r *page.Request, a *beeos.Agent) (page.Answer, error) {
	row, err := s.describeAgent(r.Context(), a)
	if err != nil {
		return nil, err
	}
	d := agentData{Row: row}
	if d.Activity, _, err = s.loadActivity(r, "/agents/"+a.ID, a.ID, false); err != nil {
		return nil, err
	}
	d.Calls, err = s.explorer.Latest(r.Context(), r.Visitor, a.ID, latestCalls)
	return page.View{Page: "agent", Data: &d}, err
}

// agentActivity is the charts of an agent.
func agentActivity(v *page.View) *activityData { return &v.Data.(*agentData).Activity }

// showAgentStatus shows what changes by itself on pages of an agent where nothing
// but its status does.
func (s *Surface) showAgentStatus(r *page.Request, a *beeos.Agent) (page.Answer, error) {
	row, err := s.describeAgent(r.Context(), a)
	return page.View{Page: "agent_access", Data: accessData{Row: row}}, err
}

// viewTab is a page of an agent other than its overview.
func viewTab(template, tab, title string, row page.AgentRow, data any) page.View {
	path := "/agents/" + row.ID
	return page.View{Page: template, Title: title + " of " + row.Title, Room: "agents", Live: path + "/status/live", Here: path + "/" + tab, Data: data}
}

// redirectToAgent leads from the address of a form to the page that it is on.
func (s *Surface) redirectToAgent(r *page.Request) (page.Answer, error) {
	target := "/agents/" + url.PathEscape(r.PathValue("agent"))
	switch r.PathValue("form") {
	case "keys":
		target += "/access#keys"
	case "approvals":
		target += "/access#approvals"
	case "builtin", "stopped":
		target += "/settings"
	}
	return page.Redirect(target, ""), nil
}

func (s *Surface) redirectToSkills(r *page.Request) (page.Answer, error) {
	return page.Redirect("/agents/"+url.PathEscape(r.PathValue("agent"))+"/skills", ""), nil
}
