// Package web is the console (port 3000): pages for people, made of templates
// on the server, with htmx where it makes them smoother. routes.go is the site
// map and each room has a file: home, agents, agent with its settings and its
// A2A card, builtin for agents that are made here, skills with the servers
// and the rules for approvals (diff.go shows how a tool has changed), chat (a
// talk with its turns, kept live by chatlive.go; markdown.go lays answers out),
// approvals, keys, apps (what was granted), account, users, audit; approve is
// for links that let somebody decide; signin, oidc and welcome let
// people in, consent asks them for MCP clients. guard.go stands in front of
// all of them, session.go knows who is there, render.go and static.go send
// what they see, live.go keeps it fresh, text.go makes what others wrote safe
// to show.
package web

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/access/approval"
	"github.com/beeos/beeos/internal/access/oauth"
	"github.com/beeos/beeos/internal/access/signin"
	"github.com/beeos/beeos/internal/engine/bus"
	"github.com/beeos/beeos/internal/engine/invoke"
	"github.com/beeos/beeos/internal/engine/ledger"
	"github.com/beeos/beeos/internal/outward/builtin"
	"github.com/beeos/beeos/internal/store"
)

// Options is what the console stands on.
type Options struct {
	DB     *store.DB
	Ledger *ledger.Ledger
	Bus    *bus.Bus // nil: pages do not refresh themselves when calls come
	Desk   *approval.Desk
	Calls  *invoke.Calls
	Files  *invoke.Files // nil: files cannot be attached
	People *signin.People
	OAuth  *oauth.Server
	OIDC   *signin.OIDC // nil: no outside provider
	Log    *slog.Logger
	Now    func() time.Time // nil = time.Now

	Runtime *builtin.Runtime // nil: built-in agents run in another process

	// Where people and programs reach the surfaces, without a slash at the end.
	PublicURL, MCPURL, RESTURL string

	// What a change must cause on every replica, and who is connected.
	Changed func(agentID string)
	Revoked func(keyID string)
	Online  func(ctx context.Context, agentID string) bool

	// Card shows an agent as A2A peers see it; nil where that surface is not.
	Card func(*beeos.Agent) (Card, error)
}

// Site is the console.
type Site struct {
	Options
	pages   pages
	files   static
	viewers viewers
	cross   *http.CrossOriginProtection
	mux     http.Handler
}

// New parses the templates and lays out the site.
func New(opt Options) (*Site, error) {
	if opt.DB == nil || opt.Ledger == nil || opt.Desk == nil || opt.Calls == nil || opt.People == nil || opt.OAuth == nil {
		return nil, errors.New("web: a part is missing")
	}
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	if opt.Now == nil {
		opt.Now = time.Now
	}
	for _, u := range []*string{&opt.PublicURL, &opt.MCPURL, &opt.RESTURL} {
		*u = strings.TrimRight(*u, "/")
	}
	s := &Site{Options: opt, cross: http.NewCrossOriginProtection()}
	if err := s.cross.AddTrustedOrigin(opt.PublicURL); err != nil {
		return nil, err
	}
	var err error
	if s.files, err = loadStatic(); err != nil {
		return nil, err
	}
	if s.pages, err = s.parse(); err != nil {
		return nil, err
	}
	s.mux = s.routes()
	if opt.Bus != nil {
		opt.Bus.OnNotice(func(n bus.Notice) {
			if n.Terminal || n.Type == beeos.ChatMessage || n.Type == "" {
				s.viewers.wake()
			}
		})
		opt.Bus.OnControl(func(c bus.Control) {
			if c.Kind == bus.ApprovalChanged {
				s.viewers.wake()
			}
		})
	}
	return s, nil
}

// audit records what somebody did. The deed is done by then, so a failure to
// record it goes to the log instead of to the page.
func (s *Site) audit(ctx context.Context, v *visit, action, subject string, detail map[string]string) {
	row := store.AuditRow{OwnerID: v.User.ID, At: s.Now(), Actor: "user:" + v.User.ID, Action: action, Subject: subject, Detail: detail}
	if err := s.DB.Audit(ctx, row); err != nil {
		s.Log.ErrorContext(ctx, "audit row not written", "action", action, "subject", subject, "err", err)
	}
}
