package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/access/auth"
	"github.com/beeos/beeos/internal/access/oauth"
	"github.com/beeos/beeos/internal/access/signin"
	"github.com/beeos/beeos/internal/engine/bus"
	"github.com/beeos/beeos/internal/wire/httpd"
)

// setupFile, in the data folder, holds the first person's way in.
const setupFile = "setup-link"

// openAccess makes what says who is calling: by key or token, as a person who
// signs in, or as an app that a person let in.
func (p *parts) openAccess(ctx context.Context) (err error) {
	tell := func(id string) { p.bus.Control(bus.Control{Kind: bus.KeyRevoked, ID: id}) }
	p.oauth, err = oauth.New(ctx, oauth.Options{
		Grants: p.db.Grants, Keys: p.db.Keys, Agents: p.db.Agents, Trail: p.db.Audit, Cluster: p.db.Cluster, Issuer: p.public.MCP, Bases: p.mcpBases(), ConsoleURL: cmp.Or(p.cfg.MCP.WebLoginURL, p.public.Web), Log: p.log, Now: p.opt.Now, AllowPrivate: p.cfg.AllowPrivate, Tell: tell,
	})
	if err != nil {
		return fmt.Errorf("open the authorization server: %w", err)
	}
	p.auth = auth.New(auth.Options{
		Keys: p.db.Keys, Instances: p.db.Instances, People: p.db.People, Cluster: p.db.Cluster, Log: p.log, From: httpd.ClientIP, Methods: p.oauth.Methods(),
	})
	p.run = append(p.run, p.auth.Run, p.oauth.Run)
	p.people = &signin.People{Table: p.db.People, Audit: p.db.Audit, Now: p.opt.Now, Log: p.log, EndTokens: p.oauth.EndUserTokens, Changed: func(userID string) {
		p.forget(userID)
		tell(userID)
	}, Refused: func(method string, why beeos.Code) { p.metrics.SignInFailed(method, string(why)) }}
	if o := p.cfg.OIDC; o.Issuer != "" {
		p.oidc = signin.NewOIDC(signin.OIDCOptions{
			Issuer: o.Issuer, ClientID: o.ClientID, ClientSecret: o.ClientSecret, RedirectURL: p.public.Web + "/signin/oidc/return",
		})
	}
	return nil
}

// forget drops what is remembered about a key, a person, a grant or a family
// of tokens. auth comes last: it ends the streams of all three.
func (p *parts) forget(id string) {
	p.people.Forget(id)
	p.oauth.Forget(id)
	p.auth.Forget(id)
}

// makeSetupLink makes the link by which the first person comes in, while there
// is nobody who can. claim is whom that person becomes, or "". It replaces the
// link of an earlier start, and of another replica.
func (p *parts) makeSetupLink(ctx context.Context, claim string) error {
	if !p.cfg.Runs("web") {
		return nil
	}
	token, err := p.people.CreateSetupLink(ctx, claim)
	if err != nil {
		return fmt.Errorf("make the setup link: %w", err)
	}
	if token != "" {
		p.info.Setup = welcomeURL(p.info.Web, token)
	}
	return p.keepSetupLink()
}

// keepSetupLink puts the link where only the operator can read it, and takes
// away the one of an earlier start: a log is read by more people and programs
// than may become the first admin.
func (p *parts) keepSetupLink() error {
	file, err := filepath.Abs(filepath.Join(p.cfg.Data, setupFile))
	if err != nil {
		return fmt.Errorf("find the data folder: %w", err)
	}
	if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("take away the old setup link: %w", err)
	}
	if p.info.Setup == "" || p.opt.Demo { // the demo shows it on its screen
		return nil
	}
	if err := writePrivate(file, p.info.Setup+"\n"); err != nil {
		return fmt.Errorf("keep the setup link: %w", err)
	}
	p.info.SetupFile = file
	return nil
}

// writePrivate makes a file for its owner's eyes alone. It must not be there
// yet: a file that was keeps the mode that it had.
func writePrivate(file, text string) error {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// welcomeURL is the page on which a one-time link is used.
func welcomeURL(web, token string) string { return web + "/welcome?token=" + token }
