package web

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/outward/builtin"
	"github.com/beeos/beeos/internal/outward/skill"
	"github.com/beeos/beeos/internal/store/approvals"
	"github.com/beeos/beeos/internal/surface/web/page"
	"github.com/beeos/beeos/internal/surface/web/safetext"
)

// lookWithin is how long the page waits for skill servers before it says that
// one has not answered.
const lookWithin = 4 * time.Second

// skillsData is what an agent can do and which of it waits for its owner: the
// tools of its skill servers when it is built in, else those it declares.
type skillsData struct {
	Row       page.AgentRow
	Elsewhere bool
	Servers   []serverRow
	Rules     rulesData
	Add       addData
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
}

// toolRow is a tool with what its owner decided about it.
type toolRow struct {
	Skill, Tool  string // as rules name it
	Title        string
	Text, Schema []safetext.Piece
	Destructive  bool
	Hidden       bool // a skill that is not offered as a tool
	Held         bool // the model does not see it
	Mode         approvals.Mode
	Default      approvals.Mode
}

// heldRow is a tool that has changed.
type heldRow struct {
	Title, Hash string
	Changes     []safetext.Change
}

func (s *Site) skills(w http.ResponseWriter, r *http.Request, v *page.Visitor) error {
	return s.showSkills(w, r, v, http.StatusOK, page.View{}, addData{})
}

// showSkills is the page; add is what a form said that could not be taken.
func (s *Site) showSkills(w http.ResponseWriter, r *http.Request, v *page.Visitor, status int, p page.View, add addData) error {
	a, err := s.owned(r, v)
	if err != nil {
		return err
	}
	return s.showSkillsOf(w, r, v, a, status, p, add)
}

func (s *Site) showSkillsOf(w http.ResponseWriter, r *http.Request, v *page.Visitor, a *beeos.Agent, status int, p page.View, add addData) error {
	d, err := s.skillsData(r.Context(), a)
	if err != nil {
		return err
	}
	add.Path, add.Commands, add.Open = "/agents/"+a.ID+"/skills", d.Add.Commands, add.Open || len(d.Servers) == 0
	d.Add = add
	p.Title, p.Room, p.Live, p.Here, p.Data = "Skills of "+d.Row.Title, "agents", "/agents/"+a.ID+"/skills/live", add.Path, d
	return s.ShowPage(w, r, v, status, "skills", p)
}

// skillsLive keeps the status fresh. Servers are asked when somebody opens
// the page, not every few seconds.
func (s *Site) skillsLive(w http.ResponseWriter, r *http.Request, v *page.Visitor) error {
	return s.streamAgent(w, r, v, func(_ context.Context, _ *beeos.Agent, row page.AgentRow) ([]byte, error) {
		return s.RenderPart("skills", "live", skillsData{Row: row})
	})
}

func (s *Site) skillsData(ctx context.Context, a *beeos.Agent) (d skillsData, err error) {
	b, err := s.builtin(ctx, a)
	if err != nil {
		return d, err
	}
	d.Row = s.agentRow(ctx, a, b)
	rules, err := s.ruleBook(ctx, a)
	if err != nil {
		return d, err
	}
	if b == nil {
		d.Rules = rules.declared(a)
		return d, nil
	}
	if s.Acts.Builtins == nil {
		d.Elsewhere, d.Rules = true, rules.rest(nil)
		return d, nil
	}
	d.Add.Commands = s.Acts.Builtins.Commands()
	looking, cancel := context.WithTimeout(ctx, lookWithin)
	defer cancel()
	states, err := s.Acts.Builtins.CheckSkills(looking, a.OwnerID, b.ID)
	if err != nil {
		return d, err
	}
	for _, state := range states {
		d.Servers = append(d.Servers, serverOf(a.ID, state, rules))
	}
	d.Rules = rules.rest(d.Servers)
	return d, nil
}

func serverOf(agentID string, state builtin.SkillState, rules ruleBook) serverRow {
	row := serverRow{
		Path: "/agents/" + agentID + "/skills/" + state.Name, Name: state.Name, Where: safetext.Line(state.URL, 200),
		Trouble: page.Sentence(state.Trouble), Detail: safetext.Line(state.Detail, 300), Consent: state.Consent, Issuer: safetext.Line(state.Issuer, 120),
		Mode: rules.modes[[2]string{state.Name, ""}], Default: rules.byDefault(state.AutoApprove),
	}
	row.Agreed = state.Issuer != "" && ways["own"] == cmp.Or(state.Auth.Grant, ways["own"])
	if state.URL == "" {
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
	otherwise := row.Mode
	if otherwise == approvals.ModeUnset {
		otherwise = row.Default
	}
	for _, t := range state.Tools {
		row.Tools = append(row.Tools, toolOf(t, rules.modes[[2]string{state.Name, t.Name}], otherwise))
		if t.Held != nil {
			row.Held = append(row.Held, heldRow{Title: safetext.Line(t.Shown, 100), Hash: t.Held.Hash, Changes: safetext.Compare(t.Held.Was, t.Held.Is)})
		}
	}
	return row
}

func toolOf(t skill.Known, mode, otherwise approvals.Mode) toolRow {
	row := toolRow{
		Skill: t.Skill, Tool: t.Name, Title: safetext.Line(t.Shown, 100), Text: safetext.Pieces(t.Description), Schema: safetext.Pieces(t.Schema), Destructive: t.Destructive, Held: t.Held != nil,
		Mode: mode, Default: otherwise,
	}
	if t.Description == "" {
		row.Text = safetext.Pieces(t.Title)
	}
	return row
}

// knows reports whether a server's card has a control for the rule.
func knows(servers []serverRow, pair [2]string) bool {
	return slices.ContainsFunc(servers, func(srv serverRow) bool {
		return srv.Name == pair[0] && (pair[1] == "" || slices.ContainsFunc(srv.Tools, func(t toolRow) bool { return t.Tool == pair[1] }))
	})
}
