package web

import (
	"context"
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

func (s *Surface) showAgents(r *page.Request) (page.Answer, error) {
	d, err := s.loadAgents(r.Context(), r.Visitor, r.URL.Query())
	live := "/agents/live"
	if q := r.URL.RawQuery; q != "" {
		live += "?" + r.URL.Query().Encode()
	}
	return page.View{Page: "agents", Title: "Agents", Room: "agents", Live: live, Data: d}, err
}

func (s *Surface) loadAgents(ctx context.Context, v *page.Visitor, query url.Values) (d agentsData, err error) {
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
	if d.Agents, d.Total, err = s.listAgents(ctx, v, agentsPerPage, offset); err != nil {
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

// listAgents returns the visitor's agents, and how many they have.
func (s *Surface) listAgents(ctx context.Context, v *page.Visitor, limit, offset int) ([]page.AgentRow, int, error) {
	list, total, err := s.Agents.List(ctx, agents.Filter{OwnerID: v.User.ID, Limit: limit, Offset: offset})
	if err != nil {
		return nil, 0, err
	}
	rows, err := s.describeAgents(ctx, v, list)
	return rows, total, err
}

// describeAgents asks for the presence of several agents at once: those on
// other nodes cost a question each.
func (s *Surface) describeAgents(ctx context.Context, v *page.Visitor, list []*beeos.Agent) ([]page.AgentRow, error) {
	made, err := s.Builtins.List(ctx, v.User.ID)
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
			rows[i] = s.newAgentRow(ctx, a, builtins[a.InstanceID])
			return nil
		})
	}
	asking.Wait() //nolint:errcheck // none of them returns one
	return rows, nil
}

// maxOwned bounds what is read of one owner's agents at once.
const maxOwned = 10_000

// findAgents returns the agents with the words somewhere in what they say.
func (s *Surface) findAgents(ctx context.Context, v *page.Visitor, words string) ([]page.AgentRow, error) {
	list, _, err := s.Agents.List(ctx, agents.Filter{OwnerID: v.User.ID, Limit: maxOwned})
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
	return s.describeAgents(ctx, v, found)
}

// newAgentRow describes an agent; b is what it is made of when it is built in.
func (s *Surface) newAgentRow(ctx context.Context, a *beeos.Agent, b *builtinstore.Builtin) page.AgentRow {
	return page.AgentRow{
		ID: a.ID, Name: a.Name, Slug: a.Slug, Title: page.AgentTitle(a), Text: safetext.Summary(a.Definition.Description, 160),
		Online: s.isOnline(ctx, a), Active: a.Active, MCP: a.MCPEnabled, Visibility: a.Visibility, Skills: len(a.Definition.Skills),
		InstanceID: a.InstanceID, Chats: page.Chats(a), Builtin: b != nil, Stopped: b != nil && b.Stopped,
	}
}

func (s *Surface) restURL(agentID string) string {
	return s.RESTURL + "/api/v1/agents/" + agentID + "/invoke"
}

func (s *Surface) mcpURL(agentID string) string { return s.MCPURL + "/" + agentID + "/mcp" }
