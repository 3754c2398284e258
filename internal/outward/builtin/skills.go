package builtin

import (
	"context"
	"slices"

	"github.com/beeos/beeos/internal/outward/skill"
	"github.com/beeos/beeos/internal/store/builtins"
)

// ListHeldTools lists the tools of an owner's built-in agent that have changed and wait
// for the owner.
func (rt *Supervisor) ListHeldTools(ctx context.Context, ownerID, id string) ([]skill.Held, error) {
	if _, err := rt.opt.Builtins.Get(ctx, ownerID, id); err != nil {
		return nil, err
	}
	return skill.HeldTools(ctx, rt.opt.Builtins, id)
}

// AcceptTool lets the model see a changed tool, if it still is the one that the
// owner was shown.
func (rt *Supervisor) AcceptTool(ctx context.Context, ownerID, id, skillName, toolName, hash string) error {
	if _, err := rt.opt.Builtins.Get(ctx, ownerID, id); err != nil {
		return err
	}
	if err := rt.opt.Builtins.AcceptSkillTool(ctx, id, skillName, toolName, hash, rt.opt.Now()); err != nil {
		return err
	}
	rt.refreshSkill(id, skillName)
	return nil
}

// refreshSkill makes the next answer ask the skill server again.
func (rt *Supervisor) refreshSkill(id, skillName string) {
	rt.tellNodes(News{ID: id, Skill: skillName})
}

func (rt *Supervisor) refreshSkillHere(id, skillName string) {
	s, _ := rt.runningSkill(id, skillName)
	if s == nil {
		return
	}
	if s.transport != nil {
		s.transport.Forget()
	}
	s.Refresh()
}

// runningSkill returns a skill of an agent that runs here, and the row that the
// agent was made of; nil = there is none.
func (rt *Supervisor) runningSkill(id, skillName string) (*connected, builtins.Builtin) {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	if b := rt.running[id]; b != nil {
		if i := slices.IndexFunc(b.skills, func(s *connected) bool { return s.Name == skillName }); i >= 0 {
			return b.skills[i], b.row
		}
	}
	return nil, builtins.Builtin{}
}
