package web

import (
	"context"
	"net/http"
	"net/url"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store/agents"
	"github.com/beeos/beeos/internal/surface/web/page"
)

// agentData is everything about one agent.
type agentData struct {
	Agent    *beeos.Agent
	Row      page.AgentRow
	MCP      string
	REST     string
	Snippets []snippet
	Builtin  *builtinData // nil = a program of its owner's
	Card     *cardData    // nil = there is no A2A here
	Calls    []callRow
	Keys     keysData
}

// owned returns the agent of the path when it is the visitor's own. What is
// not looks the same as what does not exist.
func (s *Site) owned(r *http.Request, v *page.Visitor) (*beeos.Agent, error) {
	a, err := s.Acts.OwnAgent(r.Context(), v.Caller(), r.PathValue("agent"))
	if beeos.CodeOf(err) == beeos.Forbidden {
		err = beeos.Errorf(beeos.AgentNotFound, "there is no such agent; check the id, or list your agents")
	}
	return a, err
}

func (s *Site) agent(w http.ResponseWriter, r *http.Request, v *page.Visitor) error {
	return s.showAgent(w, r, v, http.StatusOK, page.View{}, fresh{})
}

// showAgent is the agent's page; fresh has a key that was just made.
func (s *Site) showAgent(w http.ResponseWriter, r *http.Request, v *page.Visitor, status int, p page.View, f fresh) error {
	a, err := s.owned(r, v)
	if err != nil {
		return err
	}
	d, err := s.agentData(r.Context(), v, a)
	if err != nil {
		return err
	}
	d.Keys.Fresh = f
	if f.Secret != "" {
		d.Snippets = s.snippets(a, f.Secret)
	}
	p.Title, p.Room, p.Live, p.Here, p.Data = d.Row.Title, "agents", "/agents/"+a.ID+"/live", "/agents/"+a.ID, d
	return s.ShowPage(w, r, v, status, "agent", p)
}

func (s *Site) agentLive(w http.ResponseWriter, r *http.Request, v *page.Visitor) error {
	return s.streamAgent(w, r, v, func(ctx context.Context, a *beeos.Agent, row page.AgentRow) ([]byte, error) {
		calls, err := s.lastCalls(ctx, v, []page.AgentRow{row}, 10)
		if err != nil {
			return nil, err
		}
		return s.RenderPart("agent", "live", agentData{Agent: a, Row: row, Calls: calls})
	})
}

// streamAgent is StreamPage for a page about the agent of the path, which is
// looked up anew each time: it may have changed, or hands.
func (s *Site) streamAgent(w http.ResponseWriter, r *http.Request, v *page.Visitor, render func(ctx context.Context, a *beeos.Agent, row page.AgentRow) ([]byte, error)) error {
	return s.StreamPage(w, r, v, func(ctx context.Context) ([]byte, error) {
		a, err := s.owned(r, v)
		if err != nil {
			return nil, err
		}
		b, err := s.builtin(ctx, a)
		if err != nil {
			return nil, err
		}
		return render(ctx, a, s.agentRow(ctx, a, b))
	})
}

func (s *Site) agentData(ctx context.Context, v *page.Visitor, a *beeos.Agent) (d agentData, err error) {
	b, err := s.builtin(ctx, a)
	if err != nil {
		return d, err
	}
	d = agentData{
		Agent: a, Row: s.agentRow(ctx, a, b), MCP: s.mcpURL(a.ID), REST: s.RESTURL + "/api/v1/agents/" + a.ID + "/invoke",
		Snippets: s.snippets(a, ""),
	}
	if b != nil {
		if d.Builtin, err = s.builtinData(ctx, a, b); err != nil {
			return d, err
		}
	}
	if d.Card, err = s.cardData(a); err != nil {
		return d, err
	}
	if d.Calls, err = s.lastCalls(ctx, v, []page.AgentRow{d.Row}, 10); err != nil {
		return d, err
	}
	d.Keys.Path, d.Keys.Most = "/agents/"+a.ID+"/keys", beeos.MaxKeysPerAgent
	d.Keys.Keys, err = s.Acts.Keys(ctx, v.Caller(), beeos.AgentKey, a.ID)
	return d, err
}

func (s *Site) toAgent(w http.ResponseWriter, r *http.Request, _ *page.Visitor) error {
	target := "/agents/" + url.PathEscape(r.PathValue("agent"))
	if r.PathValue("form") == "keys" {
		target += "#keys"
	}
	http.Redirect(w, r, target, http.StatusSeeOther)
	return nil
}

func (s *Site) toSkills(w http.ResponseWriter, r *http.Request, _ *page.Visitor) error {
	http.Redirect(w, r, "/agents/"+url.PathEscape(r.PathValue("agent"))+"/skills", http.StatusSeeOther)
	return nil
}

// setAgent changes what the owner decides about an agent.
func (s *Site) setAgent(w http.ResponseWriter, r *http.Request, v *page.Visitor) error {
	id, visibility := r.PathValue("agent"), beeos.Visibility(r.FormValue("visibility"))
	mcp, self := r.FormValue("mcp") == "on", r.FormValue("self") == "on"
	_, err := s.Acts.UpdateAgent(r.Context(), v.Caller(), id, agents.Patch{Visibility: &visibility, MCPEnabled: &mcp, SelfTool: &self})
	if message, status, ok := page.FormProblem(err); ok {
		return s.showAgent(w, r, v, status, page.View{Problem: message}, fresh{})
	}
	if err != nil {
		return err
	}
	return page.Redirect(w, r, "/agents/"+id, "saved")
}
