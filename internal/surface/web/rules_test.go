package web

import (
	"testing"

	"github.com/beeos/beeos/internal/outward/builtin"
	"github.com/beeos/beeos/internal/outward/skill"
	"github.com/beeos/beeos/internal/store/approvals"
)

// TestSkillsPageShowsRuleOfTool: what the page says of a tool without a rule of
// its own is what happens when the model calls it: the rule of its skill, else
// that of the agent, else how the tool was set up, else how the skill was.
func TestSkillsPageShowsRuleOfTool(t *testing.T) {
	state := builtin.SkillState{Tools: []skill.Known{{Skill: "drive", Name: "read"}, {Skill: "drive", Name: "wipe"}, {Skill: "drive", Name: "save"}}}
	state.Server = skill.Server{Name: "drive", URL: "https://drive.example/mcp", AutoApprove: true, Policies: map[string]skill.Policy{"read": {AutoApprove: true}, "wipe": {}}}
	whole := [2]string{"drive", ""}
	for name, c := range map[string]struct {
		auto             bool
		rules            ruleBook
		read, wipe, save approvals.Mode
		own              bool
	}{
		"set up to go ahead": {auto: true, read: "auto", wipe: "ask", save: "auto", own: true},
		"set up to ask":      {auto: false, read: "auto", wipe: "ask", save: "ask", own: true},
		"the agent asks":     {auto: true, rules: ruleBook{own: approvals.Rule{Mode: approvals.ModeAsk}}, read: "ask", wipe: "ask", save: "ask"},
		"the agent does not": {rules: ruleBook{own: approvals.Rule{Mode: approvals.ModeAuto}}, read: "auto", wipe: "auto", save: "auto"},
		"the skill asks":     {auto: true, rules: ruleBook{modes: map[[2]string]approvals.Mode{whole: approvals.ModeAsk}}, read: "ask", wipe: "ask", save: "ask"},
		"skill before agent": {rules: ruleBook{own: approvals.Rule{Mode: approvals.ModeAsk}, modes: map[[2]string]approvals.Mode{whole: approvals.ModeAuto}}, read: "auto", wipe: "auto", save: "auto"},
	} {
		state.AutoApprove = c.auto
		row := newServerRow("a", state, c.rules, &pageRoom{tools: roomForTools, changes: roomForChanges})
		if row.Tools[0].Default != c.read || row.Tools[1].Default != c.wipe || row.Tools[2].Default != c.save {
			t.Errorf("%s: %s, %s, %s", name, row.Tools[0].Default, row.Tools[1].Default, row.Tools[2].Default)
		}
		if row.Tools[0].Own != c.own || row.Tools[1].Own != c.own || row.Tools[2].Own {
			t.Errorf("%s: tools with a rule of their own: %v, %v, %v", name, row.Tools[0].Own, row.Tools[1].Own, row.Tools[2].Own)
		}
	}
}
