package builtin

import (
	"context"
	"crypto"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/outward/oauthclient"
	"github.com/beeos/beeos/internal/outward/skill"
	"github.com/beeos/beeos/internal/store/builtins"
)

// vault keeps what one skill of one agent was given, in the database, sealed
// for exactly that place.
type vault struct {
	rt             *Supervisor
	id, skill, url string
}

func (v vault) Last(ctx context.Context) (*oauthclient.Session, error) { return v.With(ctx, "") }

func (v vault) With(ctx context.Context, issuer string) (*oauthclient.Session, error) {
	sealed, err := v.rt.opt.Builtins.GetSkillToken(ctx, v.id, v.skill, v.url, issuer)
	if err != nil || sealed == nil {
		return nil, err
	}
	var s oauthclient.Session
	if err := v.rt.sealer.OpenJSON(sealed, v.place(), &s); err != nil {
		return nil, fmt.Errorf("read the token of skill %s: %w", v.skill, err)
	}
	return &s, nil
}

func (v vault) Put(ctx context.Context, s oauthclient.Session) error {
	sealed, err := v.rt.sealer.SealJSON(s, v.place())
	if err != nil {
		return err
	}
	return v.rt.opt.Builtins.PutSkillToken(ctx, v.id, v.skill, v.url, s.Issuer, sealed, v.rt.opt.Now())
}

func (v vault) place() string { return builtins.TokenPlace(v.id, v.skill, v.url) }

// newTransport returns how the client of a skill reaches its server.
func (rt *Supervisor) newTransport(row builtins.Builtin, s skill.Server, secrets skill.Secrets) (*oauthclient.Transport, error) {
	c := oauthclient.Client{
		Grant: s.Auth.Grant, ID: s.Auth.ClientID, Secret: secrets.ClientSecret, Issuer: s.Auth.Issuer, Scopes: s.Auth.Scopes,
		Name: "BeeOS agent " + row.Name, Redirect: rt.opt.Console + Authorized, IDP: s.Auth.IDP, IDPClient: s.Auth.IDPClient,
	}
	if strings.HasPrefix(rt.opt.Console, "https://") {
		c.Document = rt.opt.Console + Document
	}
	if secrets.PrivateKey != "" {
		var err error
		if c.Key, err = parseKey(s.Name, secrets); err != nil {
			return nil, err
		}
	}
	if s.Auth.Assertion != "" {
		c.Assertion = rt.assertionReader(s.Auth.Assertion)
	}
	return oauthclient.New(oauthclient.Options{
		URL: s.URL, Client: c, Vault: vault{rt, row.ID, s.Name, s.URL}, Base: rt.opt.HTTP, Plain: rt.opt.Plain, Now: rt.opt.Now,
	})
}

func parseKey(skillName string, secrets skill.Secrets) (crypto.Signer, error) {
	key, err := oauthclient.ParseKey(secrets.PrivateKey)
	if err != nil {
		return nil, beeos.Wrap(beeos.InvalidParam, err, "the private key of skill "+skillName+" cannot be read; use an EC, RSA or Ed25519 key in PKCS#8 PEM")
	}
	return key, nil
}

// allowedAssertion returns what the admin allowed under a name, for a reader if there
// is one yet.
func (rt *Supervisor) allowedAssertion(name, reader string) (Assertion, error) {
	a, ok := rt.opt.Assertions[name]
	switch {
	case !ok:
		return a, beeos.Errorf(beeos.Forbidden, "no assertion %q is allowed here; an admin allows one in the configuration of the server", name)
	case reader != "" && !slices.Contains(a.For, reader):
		return a, beeos.Errorf(beeos.Forbidden, "the assertion %q is not for %s; an admin allows that in the configuration of the server", name, reader)
	}
	return a, nil
}

// assertionReader reads an allowed file each time: whoever writes it renews it.
func (rt *Supervisor) assertionReader(name string) func(context.Context, string) (string, error) {
	return func(_ context.Context, reader string) (string, error) {
		a, err := rt.allowedAssertion(name, reader)
		if err != nil {
			return "", err
		}
		text, err := os.ReadFile(a.File)
		if err != nil {
			return "", fmt.Errorf("read the assertion %s: %w", name, err)
		}
		return strings.TrimSpace(string(text)), nil
	}
}
