package web

import (
	"context"
	"slices"

	agentstore "github.com/beeos/beeos/internal/store/agents"
	grantstore "github.com/beeos/beeos/internal/store/grants"
	"github.com/beeos/beeos/internal/surface/web/page"
	"github.com/beeos/beeos/internal/surface/web/safetext"
)

// appRow is one program that was let in.
type appRow struct {
	grantstore.Grant
	Name, Host string
	Agents     []appAgent // of the visitor's agents, those it reaches
}

type appAgent struct{ ID, Title string }

type appsData struct {
	Apps  []appRow
	Agent string // the name and address of an agent to try it with
	URL   string
}

// isAlive reports whether a grant still lets somebody in.
func (s *Surface) isAlive(g grantstore.Grant) bool {
	return g.RevokedAt.IsZero() && (g.ExpiresAt.IsZero() || g.ExpiresAt.After(s.Now()))
}

func (s *Surface) showApps(r *page.Request) (page.Answer, error) {
	d, err := s.loadApps(r.Context(), r.Visitor)
	return page.View{Page: "apps", Title: "Connected apps", Room: "apps", Data: d}, err
}

func (s *Surface) loadApps(ctx context.Context, v *page.Visitor) (d appsData, err error) {
	grants, err := s.OAuth.ListGrants(ctx, v.User.ID)
	if err != nil {
		return d, err
	}
	agents, _, err := s.Agents.List(ctx, agentstore.Filter{OwnerID: v.User.ID, Limit: maxOwned})
	if err != nil {
		return d, err
	}
	d.Agent, d.URL = "my-agent", s.MCPURL+"/AGENT_ID/mcp"
	if len(agents) > 0 {
		d.Agent, d.URL = agents[0].Slug, s.mcpURL(agents[0].ID)
	}
	for _, g := range grants {
		if !s.isAlive(g) {
			continue
		}
		row := appRow{Grant: g, Name: page.ProgramName(g.ClientName), Host: safetext.Line(g.ClientHost, 100)}
		for _, a := range agents {
			if g.All || slices.Contains(g.Agents, a.ID) {
				row.Agents = append(row.Agents, appAgent{a.ID, page.AgentTitle(a)})
			}
		}
		d.Apps = append(d.Apps, row)
	}
	return d, nil
}

// narrowApp leaves a program only the agents that are still ticked.
func (s *Surface) narrowApp(r *page.Request) (page.Answer, error) {
	if err := r.ParseForm(); err != nil {
		return nil, err
	}
	if len(r.PostForm["agent"]) == 0 {
		return s.revokeApp(r) // none left is nothing granted
	}
	return page.Redirect("/apps", "app-changed"), s.Acts.NarrowGrant(r.Context(), r.Caller(), r.PathValue("grant"), r.PostForm["agent"])
}

func (s *Surface) revokeApp(r *page.Request) (page.Answer, error) {
	return page.Redirect("/apps", "app-revoked"), s.Acts.RevokeGrant(r.Context(), r.Caller(), r.PathValue("grant"))
}
