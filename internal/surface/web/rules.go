package web

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/access/approval"
	"github.com/beeos/beeos/internal/store/approvals"
	"github.com/beeos/beeos/internal/surface/web/page"
	"github.com/beeos/beeos/internal/surface/web/safetext"
)

// rulesData is which tool calls of an agent wait for its owner.
type rulesData struct {
	Path    string // where the form posts
	Mode    approvals.Mode
	Minutes int
	Tools   []toolRow
}

// ruleBook is what the owner of an agent has decided, and about what.
type ruleBook struct {
	agent *beeos.Agent
	own   approvals.Rule               // of the agent as a whole
	modes map[[2]string]approvals.Mode // by skill and tool; unset = it was asked about
}

// seenTools is how far back tools are looked for that an agent asked about.
const seenTools = 500

// ruleBook reads the rules of an agent, and which tools it has asked about.
func (s *Site) ruleBook(ctx context.Context, a *beeos.Agent) (b ruleBook, err error) {
	b = ruleBook{agent: a, modes: map[[2]string]approvals.Mode{}}
	rules, err := s.DB.Approvals.ListRules(ctx, a.ID)
	if err != nil {
		return b, err
	}
	seen, err := s.DB.Approvals.ListSeenTools(ctx, a.ID, a.OwnerID, seenTools)
	if err != nil {
		return b, err
	}
	for _, pair := range seen {
		b.modes[pair] = ""
	}
	for _, r := range rules {
		if r.Skill == "" && r.Tool == "" {
			b.own = r
			continue
		}
		b.modes[[2]string{r.Skill, r.Tool}] = r.Mode
	}
	return b, nil
}

// byDefault is what counts for a skill of a built-in agent without a rule
// about it: the agent's rule, else how the skill was set up.
func (b ruleBook) byDefault(auto bool) approvals.Mode {
	switch {
	case b.own.Mode != approvals.ModeUnset:
		return b.own.Mode
	case auto:
		return approvals.ModeAuto
	}
	return approvals.ModeAsk
}

// declared lists the tools that an agent declares, those that it has asked
// about, and those that have a rule.
func (b ruleBook) declared(a *beeos.Agent) rulesData {
	rows := map[[2]string]toolRow{}
	for pair, mode := range b.modes {
		rows[pair] = ruleRow(pair, mode)
	}
	for _, sk := range a.Definition.Skills {
		row := ruleRow([2]string{"", sk.Name}, b.modes[[2]string{"", sk.Name}])
		row.Text, row.Hidden, row.Destructive = safetext.Pieces(beeos.Visible(sk.Description)), !sk.Exposed(), approval.Destructive(a, sk.Name)
		rows[[2]string{"", sk.Name}] = row
	}
	return b.data(rows)
}

// rest lists the rules that no card of a server has a control for.
func (b ruleBook) rest(servers []serverRow) rulesData {
	rows := map[[2]string]toolRow{}
	for pair, mode := range b.modes {
		if !knows(servers, pair) {
			rows[pair] = ruleRow(pair, mode)
		}
	}
	return b.data(rows)
}

func (b ruleBook) data(rows map[[2]string]toolRow) rulesData {
	d := rulesData{Path: "/agents/" + b.agent.ID + "/approvals", Mode: b.own.Mode, Minutes: int(b.own.Timeout / time.Minute)}
	for _, row := range rows {
		d.Tools = append(d.Tools, row)
	}
	slices.SortFunc(d.Tools, func(a, b toolRow) int { return cmp.Or(cmp.Compare(a.Skill, b.Skill), cmp.Compare(a.Tool, b.Tool)) })
	return d
}

func ruleRow(pair [2]string, mode approvals.Mode) toolRow {
	row := toolRow{Skill: pair[0], Tool: pair[1], Mode: mode}
	row.Title = safetext.Line(approval.ToolName(&approvals.Approval{Skill: row.Skill, Tool: row.Tool}), 100)
	if row.Tool == "" {
		row.Title = safetext.Line(row.Skill, 100) + " / all tools"
	}
	return row
}

// setRules takes a form of the skills page: the rules of the agent, those of
// some tools, or both.
func (s *Site) setRules(w http.ResponseWriter, r *http.Request, v *page.Visitor) error {
	a, err := s.owned(r, v)
	if err != nil {
		return err
	}
	rules, err := readRules(r)
	if err == nil {
		err = s.Acts.SetRules(r.Context(), v.Caller(), a.ID, rules)
	}
	if message, status, ok := page.FormProblem(err); ok {
		return s.showSkills(w, r, v, status, page.View{Problem: message}, addData{})
	}
	if err != nil {
		return err
	}
	return page.Redirect(w, r, "/agents/"+a.ID+"/skills", "saved")
}

func readRules(r *http.Request) (rules []approvals.Rule, err error) {
	if err := r.ParseForm(); err != nil {
		return nil, beeos.Wrap(beeos.InvalidBody, err, "the form could not be read; send it again")
	}
	if r.PostForm.Has("all") || r.PostForm.Has("minutes") {
		own := approvals.Rule{Mode: approvals.Mode(r.FormValue("all"))}
		if given := r.FormValue("minutes"); given != "" {
			minutes, err := strconv.Atoi(given)
			if err != nil {
				return nil, beeos.Errorf(beeos.InvalidParam, "the time to decide is a number of minutes")
			}
			own.Timeout = time.Duration(minutes) * time.Minute
		}
		rules = append(rules, own)
	}
	skills, tools, modes := r.Form["skill"], r.Form["tool"], r.Form["mode"]
	if len(skills) != len(tools) || len(tools) != len(modes) {
		return nil, beeos.Errorf(beeos.InvalidBody, "the form is not whole; open the page and send it again")
	}
	for i := range tools {
		if skills[i] == "" && tools[i] == "" {
			continue
		}
		rules = append(rules, approvals.Rule{Skill: skills[i], Tool: tools[i], Mode: approvals.Mode(modes[i])})
	}
	return rules, nil
}
