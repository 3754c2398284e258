package builtin

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/outward/oauthclient"
	"github.com/beeos/beeos/internal/outward/skill"
	"github.com/beeos/beeos/internal/store/builtins"
)

// Paths of the console that have to do with consent: where authorization
// servers send people back to, and where they can read who asks.
const (
	Authorized = "/skills/authorized"
	Document   = "/skills/client.json"
)

// consentWithin is how long a person may take at the authorization server.
const consentWithin = 10 * time.Minute

// ClientDocument is what Document serves: who asks people for consent.
func (rt *Supervisor) ClientDocument() any {
	return map[string]any{
		"client_id": rt.opt.Console + Document, "client_name": "BeeOS", "client_uri": rt.opt.Console,
		"redirect_uris": []string{rt.opt.Console + Authorized}, "application_type": "web", "token_endpoint_auth_method": "none",
		"grant_types": []string{"authorization_code", "refresh_token"}, "response_types": []string{"code"},
	}
}

// StartConsent returns where the owner of a built-in agent can let one of its skills
// in. What they come back with is for FinishConsent.
func (rt *Supervisor) StartConsent(ctx context.Context, ownerID, id, skillName string) (string, error) {
	t, err := rt.protectedTransport(ctx, ownerID, id, skillName)
	if err != nil {
		return "", err
	}
	p, err := t.Start(ctx)
	if err != nil {
		return "", err
	}
	c := builtins.SkillConsent{BuiltinID: id, Skill: skillName}
	if c.Sealed, err = rt.sealer.SealJSON(p, builtins.ConsentPlace(id, skillName)); err != nil {
		return "", err
	}
	if err := rt.opt.Builtins.PutSkillConsent(ctx, p.State, c, rt.opt.Now().Add(consentWithin)); err != nil {
		return "", err
	}
	return p.URL, nil
}

// Authorization is what an owner came back from an authorization server with:
// for which skill of which built-in agent, and who let it in.
type Authorization struct{ ID, Skill, Issuer string }

// FinishConsent takes what the owner came back with. It must be the one who started:
// a link that somebody else sends leads nowhere. The owner is told about which
// skill it was even when it came to nothing.
func (rt *Supervisor) FinishConsent(ctx context.Context, ownerID string, query url.Values) (Authorization, error) {
	c, err := rt.opt.Builtins.TakeSkillConsent(ctx, query.Get("state"), rt.opt.Now())
	if err != nil {
		return Authorization{}, err
	}
	t, err := rt.protectedTransport(ctx, ownerID, c.BuiltinID, c.Skill)
	if err != nil {
		return Authorization{}, err
	}
	done := Authorization{ID: c.BuiltinID, Skill: c.Skill}
	var p oauthclient.Pending
	if err := rt.sealer.OpenJSON(c.Sealed, builtins.ConsentPlace(c.BuiltinID, c.Skill), &p); err != nil {
		return done, fmt.Errorf("read the consent: %w", err)
	}
	if err := t.Finish(ctx, p, query); err != nil {
		return done, err
	}
	rt.refreshSkill(c.BuiltinID, c.Skill)
	done.Issuer = p.Session.Issuer
	return done, nil
}

// ForgetConsent drops all tokens of a skill.
func (rt *Supervisor) ForgetConsent(ctx context.Context, ownerID, id, skillName string) error {
	if _, err := rt.opt.Builtins.Get(ctx, ownerID, id); err != nil {
		return err
	}
	if err := rt.opt.Builtins.ForgetSkillTokens(ctx, id, skillName); err != nil {
		return err
	}
	rt.refreshSkill(id, skillName)
	return nil
}

// protectedTransport returns a transport for one skill of an owner's agent.
func (rt *Supervisor) protectedTransport(ctx context.Context, ownerID, id, skillName string) (*oauthclient.Transport, error) {
	row, d, secret, err := rt.getRow(ctx, ownerID, id)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(d.Servers, func(s skill.Server) bool { return s.Name == skillName && s.URL != "" })
	if i < 0 {
		return nil, beeos.Errorf(beeos.NotFound, "agent %s has no skill %s with a url", row.Name, skillName)
	}
	return rt.newTransport(row, d.Servers[i], secret.Skills[skillName])
}
