package web

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/outward/builtin"
	"github.com/beeos/beeos/internal/outward/skill"
	"github.com/beeos/beeos/internal/store/approvals"
	"github.com/beeos/beeos/internal/store/builtins"
	"github.com/beeos/beeos/internal/surface/web/page"
	"github.com/beeos/beeos/internal/surface/web/safetext"
)

// lookWithin is how long the page waits for skill servers before it says that
// one has not answered.
const lookWithin = 4 * time.Second

// skillsData is what a built-in agent can do and which of it waits for its owner:
// the tools of its skill servers.
type skillsData struct {
	Row     page.AgentRow
	Servers []serverRow
	Rules   rulesData
	Add     addData
}

// serverRow is a skill server of a built-in agent.
type serverRow struct {
	Path            string // of its forms
	Name, Where     string
	State, Mood     string
	Trouble, Detail string
	Consent         bool           // it wants its owner's
	Agreed          bool           // it has that
	Issuer          string         // who let the agent in
	Mode            approvals.Mode // of all its tools
	Default         approvals.Mode // what counts without it
	Tools           []toolRow
	Held            []heldRow
	LeftOut         []string // tools that nobody is offered, and why
}

// toolRow is a tool with what its owner decided about it.
type toolRow struct {
	Skill, Tool  string // as rules name it
	Title        string
	Text, Schema []safetext.Piece
	Cut          bool // there is more to it than the page has room for
	Destructive  bool
	Hidden       bool // a skill that is not offered as a tool
	Held         bool // the model does not see it
	Own          bool // the agent was set up with a rule for this tool
	Mode         approvals.Mode
	Default      approvals.Mode
}

// heldRow is a tool that is new or has changed.
type heldRow struct {
	Title, Hash string
	New         bool
	Changes     []safetext.Change // none = the page has no room for them, and nobody accepts what they do not see
}

// A page shows so many bytes of what tools say, and of how they have changed. The
// first change is shown however long it is.
const (
	roomForTools   = 1 << 20
	roomForChanges = 1 << 20
	bytesOfMarkup  = 80 // about, around each piece of a text
)

// pageRoom is how much room is left on a page.
type pageRoom struct{ tools, changes int }

// compare returns the changes of a tool, while there is room for them.
func (p *pageRoom) compare(h *skill.Held) []safetext.Change {
	if p.changes <= 0 {
		return nil
	}
	changes := safetext.Compare(h.Was, h.Is)
	for _, c := range changes {
		p.changes -= bytesOfMarkup * (1 + len(c.Was) + len(c.Is))
		for _, span := range slices.Concat(c.Was, c.Is) {
			p.changes -= len(span.Text)
		}
	}
	return changes
}

// pieces returns the pieces of a text; none when there is no room for them.
func (p *pageRoom) pieces(text string) (list []safetext.Piece, cut bool) {
	if len(text) > p.tools {
		return nil, true
	}
	list = safetext.Pieces(text)
	p.tools -= len(text) + bytesOfMarkup*len(list)
	return list, false
}

func (s *Surface) showSkills(r *page.Request, a *beeos.Agent) (page.Answer, error) {
	b, err := s.findBuiltin(r.Context(), a)
	if err != nil {
		return nil, err
	}
	if b == nil { // it says itself what it can do
		return page.Redirect("/agents/"+a.ID+"/access#approvals", ""), nil
	}
	d, err := s.loadSkills(r.Context(), a, b)
	d.Add = s.readAddForm(r, a.ID)
	d.Add.Open = d.Add.Open || len(d.Servers) == 0
	err = cmp.Or(err, d.Add.listPeers(r.Context(), s.Agents, a))
	return page.View{Page: "skills", Title: "Skills of " + d.Row.Title, Room: "agents", Live: d.Add.Path + "/live", Here: d.Add.Path, Data: d}, err
}

// showSkillsStatus shows what changes on the page by itself. Servers are asked when
// somebody opens the page, not every few seconds.
func (s *Surface) showSkillsStatus(r *page.Request, a *beeos.Agent) (page.Answer, error) {
	row, err := s.describeAgent(r.Context(), a)
	return page.View{Page: "skills", Data: skillsData{Row: row}}, err
}

func (s *Surface) loadSkills(ctx context.Context, a *beeos.Agent, b *builtins.Builtin) (d skillsData, err error) {
	d.Row = s.newAgentRow(ctx, a, b)
	rules, err := s.loadRules(ctx, a)
	if err != nil {
		return d, err
	}
	looking, cancel := context.WithTimeout(ctx, lookWithin)
	defer cancel()
	states, err := s.Acts.Builtins.CheckSkills(looking, a.OwnerID, b.ID)
	if err != nil {
		return d, err
	}
	room := &pageRoom{tools: roomForTools, changes: roomForChanges}
	for _, state := range states {
		row := newServerRow(a.ID, state, rules, room)
		if peer, err := s.Agents.Get(ctx, state.Agent); err == nil && peer.OwnerID == a.OwnerID {
			row.Where = "your agent " + safetext.Line(page.AgentTitle(peer), 100)
		}
		d.Servers = append(d.Servers, row)
	}
	d.Rules = rules.listOthers(d.Servers)
	return d, nil
}

func newServerRow(agentID string, state builtin.SkillState, rules ruleBook, room *pageRoom) serverRow {
	row := serverRow{
		Path: "/agents/" + agentID + "/skills/" + state.Name, Name: state.Name, Where: safetext.Line(state.URL, 200),
		Trouble: page.Sentence(state.Trouble), Detail: safetext.Line(state.Detail, 300), Consent: state.Consent, Issuer: safetext.Line(state.Issuer, 120),
		LeftOut: state.LeftOut, Mode: rules.modes[[2]string{state.Name, ""}], Default: rules.defaultMode(state.AutoApprove),
	}
	row.Agreed = state.Issuer != "" && ways["own"] == cmp.Or(state.Auth.Grant, ways["own"])
	switch {
	case state.Agent != "":
		row.Where = "your agent " + safetext.Line(state.Agent, 100)
	case state.Command != "":
		row.Where = "the command " + state.Command + " on this server"
	}
	switch {
	case state.Consent:
		row.State, row.Mood = "needs authorization", "busy"
	case state.Trouble != "":
		row.State, row.Mood = "cannot be used", "bad"
	default:
		row.State, row.Mood = "working", "good"
		if slices.ContainsFunc(state.Tools, func(t skill.Known) bool { return t.Held != nil }) {
			row.State, row.Mood = "needs a look", "busy"
		}
	}
	for _, t := range state.Tools {
		tool := newToolRow(t, rules.modes[[2]string{state.Name, t.Name}], cmp.Or(row.Mode, rules.defaultMode(state.Auto(t.Name))), room)
		if _, own := state.Policies[t.Name]; own && row.Mode == "" && rules.own.Mode == "" {
			tool.Own = true
		}
		row.Tools = append(row.Tools, tool)
		if t.Held != nil {
			row.Held = append(row.Held, heldRow{Title: safetext.Line(t.Shown, 100), Hash: t.Held.Hash, New: t.Held.Was == "", Changes: room.compare(t.Held)})
		}
	}
	return row
}

func newToolRow(t skill.Known, mode, otherwise approvals.Mode, room *pageRoom) toolRow {
	row := toolRow{
		Skill: t.Skill, Tool: t.Name, Title: safetext.Line(t.Shown, 100),
		Destructive: t.Destructive, Held: t.Held != nil, Mode: mode, Default: otherwise,
	}
	var cut [2]bool
	row.Text, cut[0] = room.pieces(cmp.Or(t.Description, t.Title))
	row.Schema, cut[1] = room.pieces(t.Schema)
	row.Cut = cut[0] || cut[1]
	return row
}

// hasControl reports whether a server's card has a control for the rule.
func hasControl(servers []serverRow, pair [2]string) bool {
	return slices.ContainsFunc(servers, func(srv serverRow) bool {
		return srv.Name == pair[0] && (pair[1] == "" || slices.ContainsFunc(srv.Tools, func(t toolRow) bool { return t.Tool == pair[1] }))
	})
}
