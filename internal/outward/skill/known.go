package skill

import (
	"context"
	"encoding/json"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store/builtins"
)

// Known is a tool as a person knows it. All but Name has nothing hidden in it.
type Known struct {
	Skill       string
	Name        string // the server's own, with whatever is in it
	Shown       string // the name, for people
	Title       string
	Description string
	Schema      string // of its arguments, on several lines
	Destructive bool   // it says so itself
	Held        *Held  // not nil: it is new or has changed since, and waits
}

// KnownTools lists what is known of the tools of a built-in agent, by skill
// and name. A server may have stopped offering some of them.
func KnownTools(ctx context.Context, table *builtins.Table, builtinID string) ([]Known, error) {
	list, err := table.ListSkillTools(ctx, builtinID, "")
	if err != nil {
		return nil, err
	}
	known := make([]Known, len(list))
	for i, t := range list {
		known[i] = knownTool(t)
	}
	return known, nil
}

// DescribeTool returns a tool of a skill that is not pinned, as people are shown it.
func DescribeTool(skillName string, t Tool) Known {
	var hints struct {
		Destructive bool `json:"destructiveHint"`
	}
	_ = json.Unmarshal(t.Annotations, &hints) // one that says nothing says no
	return Known{
		Skill: skillName, Name: t.Name, Shown: beeos.Visible(t.Name), Title: beeos.Visible(t.Title), Description: beeos.Visible(t.Description),
		Schema: indentVisible(string(t.Schema)), Destructive: hints.Destructive,
	}
}

func knownTool(t builtins.SkillTool) Known {
	k := Known{Skill: t.Skill, Name: t.Tool, Shown: beeos.Visible(t.Tool)}
	var p pinned
	if json.Unmarshal([]byte(t.Definition), &p) == nil {
		k.Title, k.Description = beeos.Visible(p.Title), beeos.Visible(p.Description)
		if schema, err := json.Marshal(p.InputSchema); err == nil {
			k.Schema = indentVisible(string(schema))
		}
		k.Destructive = p.Annotations != nil && p.Annotations.DestructiveHint != nil && *p.Annotations.DestructiveHint
	}
	if t.HeldHash != "" {
		k.Held = heldTool(t)
	}
	return k
}
