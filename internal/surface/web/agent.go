package web

import (
	"context"
	"net/url"
	"strings"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store/agents"
	"github.com/beeos/beeos/internal/surface/web/page"
)

// agentData is everything about one agent.
type agentData struct {
	Agent    *beeos.Agent
	Row      page.AgentRow
	About    string // what it says about itself, in Markdown
	MCP      string
	REST     string
	Snippets []snippet
	Builtin  *builtinData // nil = a program of its owner's
	Card     *cardData    // nil = there is no A2A here
	Calls    []page.CallRow
	Keys     keysData

	Visibilities []visibilityChoice
}

// visibilityChoice is who may call an agent, and where they find it.
type visibilityChoice struct {
	Value       beeos.Visibility
	Title, Text string
}

var visibilityChoices = []visibilityChoice{
	{beeos.VisiblePrivate, "Private", "Only you can see and call it."},
	{beeos.VisibleUnlisted, "Unlisted", "Everybody on this server who knows its id can call it; no list has it."},
	{beeos.VisiblePublic, "Public", "Everybody on this server can call it, and finds it among the agents that you show."},
	{beeos.VisibleMarketplace, "Marketplace", "Everybody on this server can call it, and finds it in the marketplace and its search."},
}

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
	return s.showAgentWith(r, a, freshKey{})
}

// showAgentWith shows the agent's page; fresh is a key that was just made.
func (s *Surface) showAgentWith(r *page.Request, a *beeos.Agent, fresh freshKey) (page.Answer, error) {
	d, err := s.loadAgent(r.Context(), r.Visitor, a)
	d.Keys.Fresh, d.Snippets = fresh, s.listSnippets(a, fresh.Secret)
	return page.View{Page: "agent", Title: d.Row.Title, Room: "agents", Live: "/agents/" + a.ID + "/live", Here: "/agents/" + a.ID, Data: d}, err
}

// showAgentStatus shows what changes on the agent's page by itself.
func (s *Surface) showAgentStatus(r *page.Request, a *beeos.Agent) (page.Answer, error) {
	row, err := s.describeAgent(r.Context(), a)
	if err != nil {
		return nil, err
	}
	calls, err := s.explorer.Latest(r.Context(), r.Visitor, a.ID, 10)
	return page.View{Page: "agent", Data: agentData{Agent: a, Row: row, Calls: calls}}, err
}

func (s *Surface) loadAgent(ctx context.Context, v *page.Visitor, a *beeos.Agent) (d agentData, err error) {
	b, err := s.findBuiltin(ctx, a)
	if err != nil {
		return d, err
	}
	d = agentData{
		Agent: a, Row: s.newAgentRow(ctx, a, b), About: a.Definition.Description, MCP: s.mcpURL(a.ID), REST: s.restURL(a.ID),
		Visibilities: visibilityChoices,
	}
	if b != nil {
		if d.Builtin, err = s.loadBuiltin(ctx, a, b); err != nil {
			return d, err
		}
	}
	if d.Card, err = s.loadCard(a); err != nil {
		return d, err
	}
	if d.Calls, err = s.explorer.Latest(ctx, v, a.ID, 10); err != nil {
		return d, err
	}
	d.Keys.Path, d.Keys.Most = "/agents/"+a.ID+"/keys", beeos.MaxKeysPerAgent
	d.Keys.Keys, err = s.Acts.Keys(ctx, v.Caller(), beeos.AgentKey, a.ID)
	return d, err
}

func (s *Surface) redirectToAgent(r *page.Request) (page.Answer, error) {
	target := "/agents/" + url.PathEscape(r.PathValue("agent"))
	if r.PathValue("form") == "keys" {
		target += "#keys"
	}
	return page.Redirect(target, ""), nil
}

func (s *Surface) redirectToSkills(r *page.Request) (page.Answer, error) {
	return page.Redirect("/agents/"+url.PathEscape(r.PathValue("agent"))+"/skills", ""), nil
}

// setAgent changes what the owner decides about an agent.
func (s *Surface) setAgent(r *page.Request) (page.Answer, error) {
	id, visibility := r.PathValue("agent"), beeos.Visibility(r.FormValue("visibility"))
	mcp, self := r.FormValue("mcp") == "on", r.FormValue("self") == "on"
	handOver, left := r.FormValue("hand_over") == "on", beeos.WhenLeft(r.FormValue("when_left"))
	p := agents.Patch{Visibility: &visibility, MCPEnabled: &mcp, SelfTool: &self, HandOver: &handOver, WhenLeft: &left}
	if r.PostForm.Has("title") {
		title := strings.TrimSpace(r.PostFormValue("title"))
		p.Title = &title
	}
	if r.PostForm.Has("rate") {
		perMinute, err := readRate(r)
		if err != nil {
			return nil, err
		}
		p.RateLimit = &perMinute
	}
	_, err := s.Acts.UpdateAgent(r.Context(), r.Caller(), id, p)
	return page.Redirect("/agents/"+id, "saved"), err
}

// confirmDelete asks first: what goes does not come back.
func (s *Surface) confirmDelete(r *page.Request, a *beeos.Agent) (page.Answer, error) {
	row, err := s.describeAgent(r.Context(), a)
	return page.View{Page: "delete_agent", Title: "Delete " + row.Title + "?", Room: "agents", Data: row}, err
}

func (s *Surface) deleteAgent(r *page.Request) (page.Answer, error) {
	return page.Redirect("/agents", "agent-deleted"), s.Acts.DeleteAgent(r.Context(), r.Caller(), r.PathValue("agent"))
}
