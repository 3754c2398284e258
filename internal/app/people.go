package app

import (
	"context"
	"fmt"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/access/act"
	"github.com/beeos/beeos/internal/access/auth"
	"github.com/beeos/beeos/internal/access/oauth"
	"github.com/beeos/beeos/internal/access/signin"
	"github.com/beeos/beeos/internal/engine/bus"
	"github.com/beeos/beeos/internal/wire/httpd"
)

// openPeople makes what lets persons in, and the apps that they let in.
func (p *parts) openPeople(ctx context.Context) (err error) {
	tell := func(id string) { p.bus.Control(bus.Control{Kind: bus.KeyRevoked, ID: id}) }
	login := p.cfg.MCP.WebLoginURL
	if login == "" {
		login = p.info.Web
	}
	p.oauth, err = oauth.New(ctx, oauth.Options{
		Grants: p.db.Grants, Agents: p.db.Agents, Trail: p.db.Audit, Cluster: p.db.Cluster, Issuer: p.info.MCP, LoginURL: login, Log: p.log, Now: p.opt.Now, AllowPrivate: p.cfg.AllowPrivate, Tell: func(_, id string) { tell(id) },
	})
	if err != nil {
		return fmt.Errorf("open the authorization server: %w", err)
	}
	p.auth = auth.New(auth.Options{DB: p.db, Log: p.log, From: httpd.ClientIP, Methods: p.oauth.Methods()})
	p.run = append(p.run, p.auth.Run, p.oauth.Run)
	p.people = &signin.People{DB: p.db, Log: p.log, Now: p.opt.Now, EndTokens: p.oauth.EndUser, Changed: func(userID string) {
		p.forget(userID)
		tell(userID)
	}}
	if o := p.cfg.OIDC; o.Issuer != "" {
		p.oidc = signin.NewOIDC(signin.OIDCOptions{
			Issuer: o.Issuer, ClientID: o.ClientID, ClientSecret: o.ClientSecret, RedirectURL: p.info.Web + "/signin/oidc/return",
		})
	}
	return nil
}

// forget drops what is remembered about a key, a person, a grant or a family
// of tokens.
func (p *parts) forget(id string) {
	p.auth.Forget(id)
	p.people.Forget(id)
	p.oauth.Forget(id)
}

// setUp makes the link by which the first person comes in, while there is
// nobody who can. claim is whom that person becomes, or "". It replaces the
// link of an earlier start, and of another replica.
func (p *parts) setUp(ctx context.Context, claim string) error {
	if !p.cfg.Runs("web") {
		return nil
	}
	token, err := p.people.SetupLink(ctx, claim)
	if err != nil {
		return fmt.Errorf("make the setup link: %w", err)
	}
	if token != "" {
		p.info.Setup = welcome(p.info.Web, token)
	}
	return nil
}

// welcome is the page on which a one-time link is used.
func welcome(web, token string) string { return web + "/welcome?token=" + token }

// demoUser returns the owner of the demo. Who uses the setup link becomes
// that user, under another address, so its id is what is remembered.
func (p *parts) demoUser(ctx context.Context) (beeos.User, error) {
	known, err := p.db.People.GetUserByEmail(ctx, demoEmail)
	if err != nil && beeos.CodeOf(err) != beeos.NotFound {
		return known, err
	}
	id, err := p.db.Cluster.Secret(ctx, "demo user", func() []byte {
		if known.ID != "" {
			return []byte(known.ID)
		}
		return []byte(beeos.NewID())
	})
	if err != nil {
		return known, err
	}
	u, err := p.db.People.GetUser(ctx, string(id))
	if err == nil || beeos.CodeOf(err) != beeos.NotFound {
		return u, err
	}
	return p.acts.CreateUser(ctx, act.OperatorFor(""), string(id), demoEmail)
}
