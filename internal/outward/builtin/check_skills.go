package builtin

import (
	"context"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/outward/builtin/answer"
	"github.com/beeos/beeos/internal/outward/oauthclient"
	"github.com/beeos/beeos/internal/outward/skill"
	"github.com/beeos/beeos/internal/store/builtins"
)

// SkillState is how a skill of a built-in agent does just now.
type SkillState struct {
	skill.Server
	Trouble string        // why its tools cannot be used; empty = they can
	Detail  string        // what the server or the network said to that, fit to be shown
	Consent bool          // its owner's consent is what it wants
	Issuer  string        // who has let the agent in; empty = nobody has
	Tools   []skill.Known // those that it offers and those that are held; all that are known while it cannot be asked
	LeftOut []string      // tools that nobody is offered, and why
}

// longestDetail of what somebody else's program says about its trouble.
const longestDetail = 300

// CheckSkills asks the skill servers of an owner's built-in agent for their tools,
// for as long as ctx allows, and returns how each of them does.
func (rt *Supervisor) CheckSkills(ctx context.Context, ownerID, id string) ([]SkillState, error) {
	row, d, secret, err := rt.getRow(ctx, ownerID, id)
	if err != nil {
		return nil, err
	}
	states := make([]SkillState, len(d.Servers))
	offered := make([][]skill.Tool, len(d.Servers))
	var group errgroup.Group
	for i, s := range d.Servers {
		group.Go(func() error {
			states[i], offered[i] = rt.checkSkill(ctx, row, s, secret.Skills[s.Name])
			return nil
		})
	}
	_ = group.Wait() // each has its own trouble
	known, err := skill.KnownTools(context.WithoutCancel(ctx), rt.opt.Builtins, id)
	if err != nil {
		return nil, err
	}
	for i := range states {
		states[i].Tools = presentTools(states[i], known, offered[i])
	}
	return states, nil
}

// checkSkill asks one server.
func (rt *Supervisor) checkSkill(ctx context.Context, row builtins.Builtin, s skill.Server, secrets skill.Secrets) (state SkillState, offered []skill.Tool) {
	state.Server = s
	c, done, err := rt.skillClient(row, s, secrets)
	if err == nil {
		defer done()
		offered, err = c.Tools(ctx, true)
		state.LeftOut = c.LeftOut()
	}
	if s.URL != "" {
		if given, err := (vault{rt, row.ID, s.Name, s.URL}).Last(context.WithoutCancel(ctx)); err == nil && given != nil && given.Access != "" {
			state.Issuer = given.Issuer
		}
	}
	switch {
	case err == nil:
	case ctx.Err() != nil:
		state.Trouble = "The server has not answered yet. Look again in a moment."
	default:
		public := beeos.Public(err)
		state.Trouble = public.Message
		if public.Err != nil {
			state.Detail = beeos.Visible(beeos.Shorten(public.Err.Error(), longestDetail))
		}
		asks := s.Auth.Grant == "" || s.Auth.Grant == oauthclient.AuthorizationCode
		state.Consent = asks && public.Code == beeos.Unauthorized
	}
	return state, offered
}

// skillClient returns the one that the running agent uses; while that does not run
// here as it is defined now, one that done ends.
func (rt *Supervisor) skillClient(row builtins.Builtin, s skill.Server, secrets skill.Secrets) (c answer.Skill, done func(), err error) {
	if running, of := rt.runningSkill(row.ID, s.Name); running != nil && of.UpdatedAt.Equal(row.UpdatedAt) {
		return running.Skill, func() {}, nil
	}
	mine, err := rt.connectSkill(row, s, secrets, nil)
	if err != nil {
		return c, nil, err
	}
	return mine.Skill, func() { rt.leaveSkill(mine) }, nil
}

// presentTools returns the tools of one skill that are worth showing. Nothing is
// pinned of an agent of the same owner.
func presentTools(state SkillState, known []skill.Known, offered []skill.Tool) (list []skill.Known) {
	if state.Agent != "" {
		for _, t := range offered {
			list = append(list, skill.DescribeTool(state.Name, t))
		}
		return list
	}
	for _, k := range known {
		here := state.Trouble != "" || k.Held != nil || slices.ContainsFunc(offered, func(t skill.Tool) bool { return t.Name == k.Name })
		if k.Skill == state.Name && here {
			list = append(list, k)
		}
	}
	return list
}
