package act

import (
	"context"
	"net/url"
	"slices"
	"strings"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/outward/builtin"
	"github.com/beeos/beeos/internal/outward/skill"
	"github.com/beeos/beeos/internal/store/audit"
)

// ConnectSkill adds a skill server to a built-in agent.
func (a *Acts) ConnectSkill(ctx context.Context, c beeos.Caller, id string, server skill.Server, secrets skill.Secrets) error {
	where, _, _ := strings.Cut(server.URL, "?") // people put keys behind it
	detail := map[string]string{"skill": server.Name, "url": where, "command": server.Command, "agent": server.Agent, "grant": server.Auth.Grant}
	return a.redefine(ctx, c, id, audit.SkillConnect, detail, map[string]skill.Secrets{server.Name: secrets}, func(d *builtin.Definition) error {
		d.Servers = append(d.Servers, server)
		return nil
	})
}

// DisconnectSkill takes a skill server away, with all that it was given.
func (a *Acts) DisconnectSkill(ctx context.Context, c beeos.Caller, id, name string) error {
	return a.redefine(ctx, c, id, audit.SkillDisconnect, map[string]string{"skill": name}, nil, func(d *builtin.Definition) error {
		before := len(d.Servers)
		d.Servers = slices.DeleteFunc(d.Servers, func(s skill.Server) bool { return s.Name == name })
		if len(d.Servers) == before {
			return beeos.Errorf(beeos.NotFound, "the agent has no such skill; look at its skills again")
		}
		return nil
	})
}

// AuthorizeSkill takes what the owner came back with from an authorization
// server. It returns which built-in agent it was about even when it came to
// nothing.
func (a *Acts) AuthorizeSkill(ctx context.Context, c beeos.Caller, query url.Values) (id string, err error) {
	if err := a.requireRunner(c); err != nil {
		return "", err
	}
	done, err := a.Builtins.FinishConsent(ctx, c.UserID, query)
	if err != nil {
		return done.ID, err
	}
	row, err := a.DB.Builtins.Get(ctx, c.UserID, done.ID)
	if err == nil {
		a.recordBuiltin(ctx, c, row, audit.SkillAuthorize, map[string]string{"skill": done.Skill, "issuer": done.Issuer})
	}
	return done.ID, err
}

// ForgetSkill drops all tokens of a skill.
func (a *Acts) ForgetSkill(ctx context.Context, c beeos.Caller, id, name string) error {
	return a.onBuiltin(ctx, c, id, audit.SkillForget, map[string]string{"skill": name}, func(owner string) error {
		return a.Builtins.ForgetConsent(ctx, owner, id, name)
	})
}

// AcceptTool lets the model see a tool that has changed, as it was when the
// owner looked at it: the hash says what that was.
func (a *Acts) AcceptTool(ctx context.Context, c beeos.Caller, id, name, hash string) error {
	detail := map[string]string{"skill": name, "hash": hash}
	return a.onBuiltin(ctx, c, id, audit.SkillAccept, detail, func(owner string) error {
		held, err := a.Builtins.ListHeldTools(ctx, owner, id)
		if err != nil {
			return err
		}
		for _, h := range held {
			if h.Skill == name && h.Hash == hash {
				detail["tool"] = h.Name
			}
		}
		return a.Builtins.AcceptTool(ctx, owner, id, name, detail["tool"], hash)
	})
}
