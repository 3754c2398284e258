package web

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

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
	Review  *reviewForm
	Tools   []toolRow
}

// reviewForm is who decides about the calls of an agent, as a form has it.
type reviewForm struct {
	Reviewers, Second string // e-mail addresses
	Need              int
	Only, NotCaller   bool
}

// ruleBook is what the owner of an agent has decided, and about what.
type ruleBook struct {
	agent *beeos.Agent
	own   approvals.Rule               // of the agent as a whole, naming people by their e-mail addresses
	modes map[[2]string]approvals.Mode // by skill and tool; unset = it was asked about
}

// seenTools is how far back tools are looked for that an agent asked about.
const seenTools = 500

// loadRules reads the rules of an agent, and which tools it has asked about.
func (s *Surface) loadRules(ctx context.Context, a *beeos.Agent) (b ruleBook, err error) {
	b = ruleBook{agent: a, modes: map[[2]string]approvals.Mode{}}
	rules, err := s.ApprovalTable.ListRules(ctx, a.ID)
	if err != nil {
		return b, err
	}
	seen, err := s.ApprovalTable.ListSeenTools(ctx, a.ID, a.OwnerID, seenTools)
	if err != nil {
		return b, err
	}
	for _, pair := range seen {
		b.modes[pair] = ""
	}
	for _, r := range rules {
		if r.Skill == "" && r.Tool == "" {
			b.own = r
			if b.own.Review, err = s.Acts.NameReview(ctx, r.Review); err != nil {
				return b, err
			}
			continue
		}
		b.modes[[2]string{r.Skill, r.Tool}] = r.Mode
	}
	return b, nil
}

// defaultMode is what counts for a skill of a built-in agent without a rule
// about it: the agent's rule, else how the skill was set up.
func (b ruleBook) defaultMode(auto bool) approvals.Mode {
	if auto {
		return cmp.Or(b.own.Mode, approvals.ModeAuto)
	}
	return cmp.Or(b.own.Mode, approvals.ModeAsk)
}

// listDeclared returns the tools that an agent declares, those that it has asked
// about, and those that have a rule.
func (b ruleBook) listDeclared(a *beeos.Agent) rulesData {
	rows := map[[2]string]toolRow{}
	for pair, mode := range b.modes {
		rows[pair] = newRuleRow(pair, mode)
	}
	for _, sk := range a.Definition.Skills {
		row := newRuleRow([2]string{"", sk.Name}, b.modes[[2]string{"", sk.Name}])
		row.Text, row.Hidden, row.Destructive = safetext.Pieces(beeos.Visible(sk.Description)), !sk.Exposed(), approval.Destructive(a, sk.Name)
		rows[[2]string{"", sk.Name}] = row
	}
	return b.sortRules(rows)
}

// listOthers returns the rules that no card of a server has a control for.
func (b ruleBook) listOthers(servers []serverRow) rulesData {
	rows := map[[2]string]toolRow{}
	for pair, mode := range b.modes {
		if !hasControl(servers, pair) {
			rows[pair] = newRuleRow(pair, mode)
		}
	}
	return b.sortRules(rows)
}

func (b ruleBook) sortRules(rows map[[2]string]toolRow) rulesData {
	d := rulesData{Path: "/agents/" + b.agent.ID + "/approvals", Mode: b.own.Mode, Minutes: int(b.own.Timeout / time.Minute)}
	d.Review = &reviewForm{}
	if own := b.own.Review; own != nil {
		d.Review = &reviewForm{strings.Join(own.Reviewers, ", "), strings.Join(own.Second, ", "), own.Need, own.Only, own.NotCaller}
	}
	d.Tools = slices.SortedFunc(maps.Values(rows), func(a, b toolRow) int { return cmp.Or(cmp.Compare(a.Skill, b.Skill), cmp.Compare(a.Tool, b.Tool)) })
	return d
}

func newRuleRow(pair [2]string, mode approvals.Mode) toolRow {
	row := toolRow{Skill: pair[0], Tool: pair[1], Mode: mode}
	row.Title = safetext.Line(approval.ToolName(&approvals.Approval{Skill: row.Skill, Tool: row.Tool}), 100)
	if row.Tool == "" {
		row.Title = safetext.Line(row.Skill, 100) + " / all tools"
	}
	return row
}

// setRules takes a form of the access or the skills page: the rules of the agent, those of
// some tools, or both.
func (s *Surface) setRules(r *page.Request, a *beeos.Agent) (page.Answer, error) {
	rules, err := readRules(r)
	if err == nil {
		err = s.Acts.SetRules(r.Context(), r.Caller(), a.ID, rules)
	}
	if err != nil {
		return nil, err
	}
	b, err := s.findBuiltin(r.Context(), a)
	if b != nil {
		return page.Redirect("/agents/"+a.ID+"/skills", "saved"), err
	}
	return page.Redirect("/agents/"+a.ID+"/access", "saved"), err
}

// showRules shows the page that has the rules of an agent.
func (s *Surface) showRules(r *page.Request, a *beeos.Agent) (page.Answer, error) {
	b, err := s.findBuiltin(r.Context(), a)
	if err != nil {
		return nil, err
	}
	if b != nil {
		return s.showSkills(r, a)
	}
	return s.showAccess(r, a)
}

func readRules(r *page.Request) (rules []approvals.Rule, err error) {
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
		if own.Review, err = readReview(r); err != nil {
			return nil, err
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

// readReview reads who decides; a form that does not ask leaves that as it is.
func readReview(r *page.Request) (*approvals.Review, error) {
	if !r.PostForm.Has("reviewers") {
		return nil, nil
	}
	list := func(text string) []string {
		return strings.FieldsFunc(text, func(c rune) bool { return c == ',' || c == ';' || unicode.IsSpace(c) })
	}
	review := &approvals.Review{
		Reviewers: list(r.FormValue("reviewers")), Second: list(r.FormValue("second_reviewers")),
		Only: r.FormValue("only_reviewers") != "", NotCaller: r.FormValue("not_caller") != "",
	}
	if given := r.FormValue("votes"); given != "" {
		votes, err := strconv.Atoi(given)
		if err != nil || votes < 1 {
			return nil, beeos.Errorf(beeos.InvalidParam, "how many have to say yes is a number")
		}
		review.Need = votes
	}
	return review, nil
}
