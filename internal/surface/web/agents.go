package web

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store/agents"
	builtinstore "github.com/beeos/beeos/internal/store/builtins"
	"github.com/beeos/beeos/internal/surface/web/page"
	"github.com/beeos/beeos/internal/surface/web/safetext"
)

const (
	agentsPerPage = 50 // presence is asked for each of them
	askAtOnce     = 16
)

type agentsData struct {
	Agents     []page.AgentRow
	Total      int
	Query      string
	Prev, Next string // addresses of the neighbouring pages
}

func (s *Site) agents(w http.ResponseWriter, r *http.Request, v *page.Visitor) error {
	d, err := s.agentsData(r.Context(), v, r.URL.Query())
	if err != nil {
		return err
	}
	live := "/agents/live"
	if q := r.URL.RawQuery; q != "" {
		live += "?" + r.URL.Query().Encode()
	}
	return s.ShowPage(w, r, v, http.StatusOK, "agents", page.View{Title: "Agents", Room: "agents", Live: live, Data: d})
}

func (s *Site) agentsLive(w http.ResponseWriter, r *http.Request, v *page.Visitor) error {
	query := r.URL.Query()
	return s.StreamPage(w, r, v, func(ctx context.Context) ([]byte, error) {
		d, err := s.agentsData(ctx, v, query)
		if err != nil {
			return nil, err
		}
		return s.RenderPart("agents", "live", d)
	})
}

func (s *Site) agentsData(ctx context.Context, v *page.Visitor, query url.Values) (d agentsData, err error) {
	d.Query = strings.TrimSpace(query.Get("q"))
	offset, err := strconv.Atoi(query.Get("from"))
	if err != nil || offset < 0 {
		offset = 0
	}
	if d.Query != "" {
		d.Agents, err = s.findAgents(ctx, v, d.Query)
		d.Total = len(d.Agents)
		return d, err
	}
	if d.Agents, d.Total, err = s.agentRows(ctx, v, agentsPerPage, offset); err != nil {
		return d, err
	}
	if offset > 0 {
		d.Prev = "/agents?from=" + strconv.Itoa(max(0, offset-agentsPerPage))
	}
	if offset+agentsPerPage < d.Total {
		d.Next = "/agents?from=" + strconv.Itoa(offset+agentsPerPage)
	}
	return d, nil
}

// agentRows are the visitor's agents.
func (s *Site) agentRows(ctx context.Context, v *page.Visitor, limit, offset int) ([]page.AgentRow, int, error) {
	list, total, err := s.DB.Agents.List(ctx, agents.Filter{OwnerID: v.User.ID, Limit: limit, Offset: offset})
	if err != nil {
		return nil, 0, err
	}
	rows, err := s.rowsOf(ctx, v, list)
	return rows, total, err
}

// rowsOf asks for the presence of several agents at once: those on other
// nodes cost a question each.
func (s *Site) rowsOf(ctx context.Context, v *page.Visitor, list []*beeos.Agent) ([]page.AgentRow, error) {
	made, err := s.DB.Builtins.List(ctx, v.User.ID)
	if err != nil {
		return nil, err
	}
	builtins := map[string]*builtinstore.Builtin{}
	for i := range made {
		builtins[made[i].ID] = &made[i]
	}
	rows := make([]page.AgentRow, len(list))
	var asking errgroup.Group
	asking.SetLimit(askAtOnce)
	for i, a := range list {
		asking.Go(func() error {
			rows[i] = s.agentRow(ctx, a, builtins[a.InstanceID])
			return nil
		})
	}
	asking.Wait() //nolint:errcheck // none of them returns one
	return rows, nil
}

// maxOwned bounds what is read of one owner's agents at once.
const maxOwned = 10_000

// findAgents returns the agents with the words somewhere in what they say.
func (s *Site) findAgents(ctx context.Context, v *page.Visitor, words string) ([]page.AgentRow, error) {
	list, _, err := s.DB.Agents.List(ctx, agents.Filter{OwnerID: v.User.ID, Limit: maxOwned})
	if err != nil {
		return nil, err
	}
	var found []*beeos.Agent
	for _, a := range list {
		text := strings.ToLower(a.ID + "\n" + a.Name + "\n" + a.Definition.DisplayName + "\n" + a.Definition.Description)
		if strings.Contains(text, strings.ToLower(words)) && len(found) < agentsPerPage {
			found = append(found, a)
		}
	}
	return s.rowsOf(ctx, v, found)
}

// agentRow describes an agent; b is what it is made of when it is built in.
func (s *Site) agentRow(ctx context.Context, a *beeos.Agent, b *builtinstore.Builtin) page.AgentRow {
	return page.AgentRow{
		ID: a.ID, Name: a.Name, Slug: a.Slug, Title: page.AgentTitle(a), Text: safetext.Line(a.Definition.Description, 160),
		Online: s.online(ctx, a), Active: a.Active, MCP: a.MCPEnabled, Visibility: a.Visibility, Skills: len(a.Definition.Skills),
		InstanceID: a.InstanceID, Builtin: b != nil, Stopped: b != nil && b.Stopped,
	}
}

func (s *Site) mcpURL(agentID string) string { return s.MCPURL + "/" + agentID + "/mcp" }
