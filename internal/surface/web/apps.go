package web

import (
	"context"
	"net/http"

	agentstore "github.com/beeos/beeos/internal/store/agents"
	grantstore "github.com/beeos/beeos/internal/store/grants"
	"github.com/beeos/beeos/internal/surface/web/page"
	"github.com/beeos/beeos/internal/surface/web/safetext"
)

// appRow is one program that was let in.
type appRow struct {
	grantstore.Grant
	Name, Host string
	Agents     []appAgent // of the visitor's agents, those it reaches first
	Reached    int
}

type appAgent struct {
	ID, Title string
	Granted   bool
}

type appsData struct {
	Apps  []appRow
	Agent string // the name and address of an agent to try it with
	URL   string
}

// alive reports whether a grant still lets somebody in.
func (s *Site) alive(g grantstore.Grant) bool {
	return g.RevokedAt.IsZero() && (g.ExpiresAt.IsZero() || g.ExpiresAt.After(s.Now()))
}

func (s *Site) apps(w http.ResponseWriter, r *http.Request, v *page.Visitor) error {
	d, err := s.appsData(r.Context(), v)
	if err != nil {
		return err
	}
	return s.ShowPage(w, r, v, http.StatusOK, "apps", page.View{Title: "Connected apps", Room: "apps", Data: d})
}

func (s *Site) appsData(ctx context.Context, v *page.Visitor) (d appsData, err error) {
	grants, err := s.OAuth.Grants(ctx, v.User.ID)
	if err != nil {
		return d, err
	}
	agents, _, err := s.DB.Agents.List(ctx, agentstore.Filter{OwnerID: v.User.ID, Limit: maxOwned})
	if err != nil {
		return d, err
	}
	d.Agent, d.URL = "my-agent", s.MCPURL+"/AGENT_ID/mcp"
	if len(agents) > 0 {
		d.Agent, d.URL = agents[0].Slug, s.mcpURL(agents[0].ID)
	}
	for _, g := range grants {
		if !s.alive(g) {
			continue
		}
		row := appRow{Grant: g, Name: safetext.Line(g.ClientName, 60), Host: safetext.Line(g.ClientHost, 100)}
		if row.Name == "" {
			row.Name = "A program without a name"
		}
		granted := map[string]bool{}
		for _, id := range g.Agents {
			granted[id] = true
		}
		for _, a := range agents {
			if g.All || granted[a.ID] {
				row.Agents = append(row.Agents, appAgent{a.ID, page.AgentTitle(a), true})
			}
		}
		row.Reached = len(row.Agents)
		d.Apps = append(d.Apps, row)
	}
	return d, nil
}

// narrowApp leaves a program only the agents that are still ticked.
func (s *Site) narrowApp(w http.ResponseWriter, r *http.Request, v *page.Visitor) error {
	if err := r.ParseForm(); err != nil {
		return err
	}
	id := r.PathValue("grant")
	if len(r.PostForm["agent"]) == 0 {
		return s.revokeApp(w, r, v) // none left is nothing granted
	}
	if err := s.Acts.NarrowGrant(r.Context(), v.Caller(), id, r.PostForm["agent"]); err != nil {
		return err
	}
	return page.Redirect(w, r, "/apps", "app-changed")
}

func (s *Site) revokeApp(w http.ResponseWriter, r *http.Request, v *page.Visitor) error {
	if err := s.Acts.RevokeGrant(r.Context(), v.Caller(), r.PathValue("grant")); err != nil {
		return err
	}
	return page.Redirect(w, r, "/apps", "app-revoked")
}
