package builtin

import (
	"context"

	"github.com/beeos/beeos/internal/outward/skill"
)

// SkillHealth is how one skill of a built-in agent does on this node.
type SkillHealth struct {
	Skill string
	skill.Health
}

// Health returns how the skills of a built-in agent do; nil while it does not
// run here.
func (rt *Supervisor) Health(id string) (list []SkillHealth) {
	rt.mu.Lock()
	b := rt.running[id]
	rt.mu.Unlock()
	if b == nil {
		return nil
	}
	for _, s := range b.skills {
		list = append(list, SkillHealth{s.Name, s.Health()})
	}
	return list
}

// AgentID returns the id of the agent that a built-in agent connected as, or ""
// while it has not connected on this node.
func (rt *Supervisor) AgentID(id string) string {
	rt.mu.Lock()
	b := rt.running[id]
	rt.mu.Unlock()
	if b == nil {
		return ""
	}
	return b.agent.ID()
}

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
	rt.refresh(id, skillName)
	return nil
}

// refresh makes the next answer ask the skill server again.
func (rt *Supervisor) refresh(id, skillName string) { rt.tell(News{ID: id, Skill: skillName}) }

func (rt *Supervisor) refreshHere(id, skillName string) {
	rt.mu.Lock()
	b := rt.running[id]
	rt.mu.Unlock()
	if b == nil {
		return
	}
	for _, s := range b.skills {
		if s.Name == skillName {
			if s.transport != nil {
				s.transport.Forget()
			}
			s.Refresh()
		}
	}
}
