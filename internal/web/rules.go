package web

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/approval"
	"github.com/beeos/beeos/internal/store"
)

// rulesData is which tool calls of an agent wait for its owner.
type rulesData struct {
	Mode    store.ApprovalMode
	Minutes int
	Tools   []ruleRow
}

type ruleRow struct {
	Skill, Tool, Title string
	Destructive        bool
	Mode               store.ApprovalMode
}

// seenTools is how far back tools are looked for that an agent asked about.
const seenTools = 500

// rulesData lists the tools that an agent declares, those that it has asked
// about, and those that have a rule.
func (s *Site) rulesData(ctx context.Context, a *beeos.Agent) (d rulesData, err error) {
	rules, err := s.DB.ApprovalRules(ctx, a.ID)
	if err != nil {
		return d, err
	}
	modes := map[[2]string]store.ApprovalMode{}
	for _, sk := range a.Definition.Skills {
		modes[[2]string{"", sk.Name}] = ""
	}
	seen, err := s.DB.SeenTools(ctx, a.ID, a.OwnerID, seenTools)
	if err != nil {
		return d, err
	}
	for _, pair := range seen {
		modes[pair] = ""
	}
	for _, r := range rules {
		if r.Skill == "" && r.Tool == "" {
			d.Mode, d.Minutes = r.Mode, int(r.Timeout/time.Minute)
			continue
		}
		modes[[2]string{r.Skill, r.Tool}] = r.Mode
	}
	for pair, mode := range modes {
		row := ruleRow{Skill: pair[0], Tool: pair[1], Mode: mode, Destructive: pair[0] == "" && approval.Destructive(a, pair[1])}
		row.Title = clean(approval.Name(&store.Approval{Skill: row.Skill, Tool: row.Tool}), 100)
		d.Tools = append(d.Tools, row)
	}
	slices.SortFunc(d.Tools, func(a, b ruleRow) int { return cmp.Or(cmp.Compare(a.Skill, b.Skill), cmp.Compare(a.Tool, b.Tool)) })
	return d, nil
}

// setRules takes the form of the agent's page, which has all rules.
func (s *Site) setRules(w http.ResponseWriter, r *http.Request, v *visit) error {
	a, err := s.owned(r, v)
	if err != nil {
		return err
	}
	rules, err := readRules(r)
	if err == nil {
		err = s.Desk.SetRules(r.Context(), a, v.User, rules)
	}
	if message, status, ok := formError(err); ok {
		return s.showAgent(w, r, v, status, page{Problem: message}, fresh{})
	}
	if err != nil {
		return err
	}
	for _, rule := range rules {
		if rule.Mode != store.ApprovalUnset || rule.Timeout != 0 {
			s.audit(r.Context(), v, "approval.policy", a.ID, map[string]string{"skill": rule.Skill, "tool": rule.Tool, "mode": string(rule.Mode)})
		}
	}
	return s.done(w, r, "/agents/"+a.ID, "saved")
}

func readRules(r *http.Request) ([]store.ApprovalRule, error) {
	if err := r.ParseForm(); err != nil {
		return nil, beeos.Wrap(beeos.InvalidBody, err, "the form could not be read; send it again")
	}
	own := store.ApprovalRule{Mode: store.ApprovalMode(r.FormValue("all"))}
	if given := r.FormValue("minutes"); given != "" {
		minutes, err := strconv.Atoi(given)
		if err != nil {
			return nil, beeos.Errorf(beeos.InvalidParam, "the time to decide is a number of minutes")
		}
		own.Timeout = time.Duration(minutes) * time.Minute
	}
	rules := []store.ApprovalRule{own}
	skills, tools, modes := r.Form["skill"], r.Form["tool"], r.Form["mode"]
	if len(skills) != len(tools) || len(tools) != len(modes) {
		return nil, beeos.Errorf(beeos.InvalidBody, "the form is not whole; open the page and send it again")
	}
	for i := range tools {
		if skills[i] == "" && tools[i] == "" {
			continue
		}
		rules = append(rules, store.ApprovalRule{Skill: skills[i], Tool: tools[i], Mode: store.ApprovalMode(modes[i])})
	}
	return rules, nil
}
