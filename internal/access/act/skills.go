package act

import (
	"context"
	"net/url"
	"slices"
	"strings"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/outward/builtin"
	"github.com/beeos/beeos/internal/outward/skill"
)

// ConnectSkill adds a skill server to a built-in agent.
func (a *Acts) ConnectSkill(ctx context.Context, c beeos.Caller, id string, server skill.Server, secrets skill.Secrets) error {
	row, _, err := a.change(ctx, c, id, map[string]skill.Secrets{server.Name: secrets}, func(d *builtin.Definition) error {
		d.Servers = append(d.Servers, server)
		return nil
	})
	if err != nil {
		return err
	}
	where, _, _ := strings.Cut(server.URL, "?") // people put keys behind it
	a.recordBuiltin(ctx, c, row, SkillConnect, map[string]string{"skill": server.Name, "url": where, "command": server.Command, "grant": server.Auth.Grant})
	return nil
}

// DisconnectSkill takes a skill server away, with all that it was given.
func (a *Acts) DisconnectSkill(ctx context.Context, c beeos.Caller, id, name string) error {
	row, _, err := a.change(ctx, c, id, nil, func(d *builtin.Definition) error {
		before := len(d.Servers)
		d.Servers = slices.DeleteFunc(d.Servers, func(s skill.Server) bool { return s.Name == name })
		if len(d.Servers) == before {
			return beeos.Errorf(beeos.NotFound, "the agent has no such skill; look at its skills again")
		}
		return nil
	})
	if err != nil {
		return err
	}
	a.recordBuiltin(ctx, c, row, SkillDisconnect, map[string]string{"skill": name})
	return nil
}

// AuthorizeSkill takes what the owner came back with from an authorization
// server. It returns which built-in agent it was about even when it came to
// nothing.
func (a *Acts) AuthorizeSkill(ctx context.Context, c beeos.Caller, query url.Values) (id string, err error) {
	if err := a.canRun(c); err != nil {
		return "", err
	}
	done, err := a.Builtins.Finish(ctx, c.UserID, query)
	if err != nil {
		return done.ID, err
	}
	row, err := a.DB.Builtin(ctx, c.UserID, done.ID)
	if err == nil {
		a.recordBuiltin(ctx, c, row, SkillAuthorize, map[string]string{"skill": done.Skill, "issuer": done.Issuer})
	}
	return done.ID, err
}

// ForgetSkill drops all tokens of a skill.
func (a *Acts) ForgetSkill(ctx context.Context, c beeos.Caller, id, name string) error {
	row, err := a.ownBuiltin(ctx, c, id)
	if err != nil {
		return err
	}
	if err := a.Builtins.Forget(ctx, row.OwnerID, id, name); err != nil {
		return err
	}
	a.recordBuiltin(ctx, c, row, SkillForget, map[string]string{"skill": name})
	return nil
}

// AcceptTool lets the model see a tool that has changed, as it was when the
// owner looked at it: the hash says what that was.
func (a *Acts) AcceptTool(ctx context.Context, c beeos.Caller, id, name, hash string) error {
	row, err := a.ownBuiltin(ctx, c, id)
	if err != nil {
		return err
	}
	held, err := a.Builtins.Held(ctx, row.OwnerID, id)
	if err != nil {
		return err
	}
	tool := ""
	for _, h := range held {
		if h.Skill == name && h.Hash == hash {
			tool = h.Name
		}
	}
	if err := a.Builtins.Accept(ctx, row.OwnerID, id, name, tool, hash); err != nil {
		return err
	}
	a.recordBuiltin(ctx, c, row, SkillAccept, map[string]string{"skill": name, "tool": tool, "hash": hash})
	return nil
}
