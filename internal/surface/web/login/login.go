// Package login lets people into the console: with a password (password.go),
// through an outside OpenID provider (oidc.go) or with an invitation or reset
// link (welcome.go). It also asks them for consent when an MCP client wants to
// use their agents (consent.go).
package login

import (
	"context"
	"embed"
	"log/slog"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/access/oauth"
	"github.com/beeos/beeos/internal/access/signin"
	"github.com/beeos/beeos/internal/store/agents"
	"github.com/beeos/beeos/internal/store/people"
	"github.com/beeos/beeos/internal/surface/web/page"
)

//go:embed templates
var templates embed.FS

// Options is what signing in stands on.
type Options struct {
	Pages  *page.Server
	Agents *agents.Table
	Users  *people.Table
	People *signin.People
	OAuth  *oauth.Server
	OIDC   *signin.OIDC // nil: no outside provider
	Log    *slog.Logger
	MCPURL string // of the MCP surface, without a slash at the end
	Online func(ctx context.Context, a *beeos.Agent) bool
}

// SignIn serves the pages on which people sign in and consent.
type SignIn struct{ Options }

// Mount adds the templates and routes to the console.
func Mount(opt Options) error {
	s := &SignIn{opt}
	if err := s.Pages.AddTemplates(templates); err != nil {
		return err
	}
	s.Pages.Handle("GET /signin", page.Anyone, s.showForm)
	s.Pages.Handle("POST /signin", page.Anyone, page.Form(s.signIn, s.showForm))
	s.Pages.Handle("GET /signin/oidc", page.Anyone, s.startOIDC)
	s.Pages.Handle("GET /signin/oidc/return", page.Anyone, s.finishOIDC)
	s.Pages.Handle("POST /signout", page.Anyone, s.signOut)
	s.Pages.Handle("GET /welcome", page.Anyone, s.showLink)
	s.Pages.Handle("POST /welcome", page.Anyone, page.Form(s.acceptLink, s.showLink))
	s.Pages.Handle("GET /mcp-login", page.SignedIn, s.askConsent)
	s.Pages.Handle("POST /mcp-login", page.SignedIn, s.takeConsent)
	return nil
}
