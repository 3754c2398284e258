package web

import (
	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store/agents"
	"github.com/beeos/beeos/internal/surface/web/page"
)

// accessData is who reaches an agent: people, keys, and which calls wait.
type accessData struct {
	Agent        *beeos.Agent
	Row          page.AgentRow
	Visibilities []visibilityChoice
	Keys         keysData
	Snippets     []snippet // with a key that was just made; nil = none was
	Rules        rulesData
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

func (s *Surface) showAccess(r *page.Request, a *beeos.Agent) (page.Answer, error) {
	return s.showAccessWith(r, a, freshKey{})
}

// showAccessWith shows who reaches an agent; fresh is a key that was just made.
func (s *Surface) showAccessWith(r *page.Request, a *beeos.Agent, fresh freshKey) (page.Answer, error) {
	ctx := r.Context()
	d := accessData{Agent: a, Visibilities: visibilityChoices, Keys: keysData{Path: "/agents/" + a.ID + "/keys", Most: beeos.MaxKeysPerAgent, Fresh: fresh}}
	var err error
	if d.Row, err = s.describeAgent(ctx, a); err != nil {
		return nil, err
	}
	if d.Keys.Keys, err = s.Acts.Keys(ctx, r.Caller(), beeos.AgentKey, a.ID); err != nil {
		return nil, err
	}
	if fresh.Secret != "" {
		d.Snippets = s.listKeySnippets(a, fresh.Secret)
	}
	if !d.Row.Builtin {
		rules, err := s.loadRules(ctx, a)
		if err != nil {
			return nil, err
		}
		d.Rules = rules.listDeclared(a)
	}
	return viewTab("agent_access", "access", "Access", d.Row, d), nil
}

// setAccess changes who reaches an agent.
func (s *Surface) setAccess(r *page.Request) (page.Answer, error) {
	id, visibility, mcp := r.PathValue("agent"), beeos.Visibility(r.PostFormValue("visibility")), r.PostFormValue("mcp") == "on"
	perMinute, err := readRate(r)
	if err != nil {
		return nil, err
	}
	_, err = s.Acts.UpdateAgent(r.Context(), r.Caller(), id, agents.Patch{Visibility: &visibility, MCPEnabled: &mcp, RateLimit: &perMinute})
	return page.Redirect("/agents/"+id+"/access", "saved"), err
}
