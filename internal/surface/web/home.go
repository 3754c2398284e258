package web

import (
	"context"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/ledger"
	"github.com/beeos/beeos/internal/store/calls"
	"github.com/beeos/beeos/internal/surface/web/page"
	"github.com/beeos/beeos/internal/surface/web/safetext"
)

// homeData is whether all is well, what needs me, and what is happening.
type homeData struct {
	Agents   []page.AgentRow
	Total    int
	Online   int
	Apps     int
	Hour     calls.SeriesSum // calls that ended in the last hour
	Health   healthData
	Needs    []need
	Activity activityData
	Calls    []page.CallRow
	Steps    []step
	Snippets []snippet // how to connect the first agent
}

// need is something that waits for the person.
type need struct{ Text, Link, Label string }

// step is one of three with which a newcomer gets to a first call.
type step struct {
	Done  bool
	Title string
	Text  string
	Code  string
}

// homeAgents is how many agents Home counts and shows calls of.
const homeAgents = 500

// homeCalls is how many calls Home shows.
const homeCalls = 8

func (s *Surface) showHome(r *page.Request) (page.Answer, error) {
	d, err := s.loadHome(r.Context(), r.Visitor)
	if err != nil {
		return nil, err
	}
	var live string
	d.Activity, live, err = s.loadActivity(r, "/", "", true)
	return page.View{Page: "home", Title: "Home", Room: "home", Live: live, Data: &d}, err
}

// homeActivity is the charts of Home.
func homeActivity(v *page.View) *activityData { return &v.Data.(*homeData).Activity }

func (s *Surface) loadHome(ctx context.Context, v *page.Visitor) (d homeData, err error) {
	rows, total, err := s.listAgents(ctx, v, homeAgents, 0)
	if err != nil {
		return d, err
	}
	d.Agents, d.Total = rows, total
	for _, a := range rows {
		if a.Online {
			d.Online++
		}
	}
	grants, err := s.OAuth.ListGrants(ctx, v.User.ID)
	if err != nil {
		return d, err
	}
	for _, g := range grants {
		if s.isAlive(g) {
			d.Apps++
		}
	}
	if d.Calls, err = s.explorer.Latest(ctx, v, "", homeCalls); err != nil {
		return d, err
	}
	waiting, err := s.listWaiting(ctx, v)
	if err != nil {
		return d, err
	}
	if d.Needs, err = s.listNeeds(ctx, v, rows, waiting); err != nil {
		return d, err
	}
	hour, err := s.readSeries(ctx, v, "", pickRange("1h"))
	if err != nil {
		return d, err
	}
	d.Hour = hour.Total()
	d.Health = d.describeHealth(waiting)
	d.Steps = s.listSteps(d)
	return d, nil
}

// listNeeds returns what waits for the person.
func (s *Surface) listNeeds(ctx context.Context, v *page.Visitor, agents []page.AgentRow, waiting map[string]ledger.Waiting) (list []need, err error) {
	if list, err = s.listApprovalNeeds(ctx, v); err != nil {
		return nil, err
	}
	held, err := s.Builtins.CountHeldSkillTools(ctx, v.User.ID)
	if err != nil {
		return nil, err
	}
	for _, a := range agents {
		if n := held[a.InstanceID]; n > 0 {
			list = append(list, need{Text: a.Title + " has " + page.Plural(n, "tool") + " that changed or came new, and must be accepted.", Link: "/agents/" + a.ID + "/skills", Label: "Look"})
		}
	}
	list = append(list, s.listAbsent(agents, waiting)...)
	low, err := s.Acts.LowBudgets(ctx, v.Caller())
	if err != nil {
		return nil, err
	}
	if low > 0 {
		list = append(list, need{Text: oneOrMany(low, "budget is", "budgets are") + " used up, or nearly.", Link: "/budgets", Label: "Look"})
	}
	unsent, err := s.countUnsent(ctx, v)
	if err != nil {
		return nil, err
	}
	if unsent > 0 {
		list = append(list, need{Text: oneOrMany(unsent, "webhook delivery", "webhook deliveries") + " of the last day failed.", Link: "/webhooks?only=problems", Label: "Look"})
	}
	expiring, err := s.expiringKeys(ctx, v)
	if err != nil {
		return nil, err
	}
	for _, k := range expiring {
		list = append(list, need{Text: "The key “" + safetext.Line(k.Name, 40) + "” expires " + page.Until(s.Now(), k.ExpiresAt) + ".", Link: keyPage(k), Label: "Replace"})
	}
	return list, nil
}

// keyPage is where a key is looked after.
func keyPage(k beeos.Key) string {
	if k.Kind == beeos.AgentKey {
		return "/agents/" + k.AgentID + "/access#keys"
	}
	return "/keys"
}

// listSteps returns what leads a newcomer; nil once all three are done.
func (s *Surface) listSteps(d homeData) []step {
	name, url := "my-agent", s.MCPURL+"/AGENT_ID/mcp"
	if len(d.Agents) > 0 {
		name, url = d.Agents[0].Slug, s.mcpURL(d.Agents[0].ID)
	}
	list := []step{
		{
			Done: d.Online > 0, Title: "Run an agent", Text: "This writes one and connects it:",
			Code: "beeos agent new weather && beeos agent run ./weather",
		},
		{
			Done: d.Apps > 0, Title: "Connect Claude", Text: "Claude opens this console and asks you; pick the agents it may use:",
			Code: "claude mcp add --transport http " + name + " " + url,
		},
		{Done: len(d.Calls) > 0, Title: "Ask it something", Text: "In Claude, or from a terminal; the call shows up below:", Code: "beeos call " + name + ` "hello"`},
	}
	for _, st := range list {
		if !st.Done {
			return list
		}
	}
	return nil
}
