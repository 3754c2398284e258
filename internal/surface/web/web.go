// Package web is the console (port 3000): pages for people, made of templates
// on the server, with htmx where it makes them smoother. routes.go is the site
// map. The pages of owners are here, a file each: home, agents, agent with its
// settings and its A2A card, builtin for agents that are made here, skills with
// their servers and the rules for approvals, approvals, keys, apps (what was
// granted), account, users, audit; approve is for links that let somebody
// decide. The other rooms are packages of their own: chat and its transcript,
// and signin. They share page (templates, sessions, streams) and safetext (what
// others wrote, made safe to show).
package web

import (
	"context"
	"embed"
	"errors"
	"log/slog"
	"strings"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/access/act"
	"github.com/beeos/beeos/internal/access/approval"
	"github.com/beeos/beeos/internal/access/oauth"
	"github.com/beeos/beeos/internal/access/signin"
	"github.com/beeos/beeos/internal/engine/bus"
	"github.com/beeos/beeos/internal/engine/files"
	"github.com/beeos/beeos/internal/engine/invoke"
	"github.com/beeos/beeos/internal/engine/ledger"
	"github.com/beeos/beeos/internal/store"
	"github.com/beeos/beeos/internal/surface/web/chat"
	"github.com/beeos/beeos/internal/surface/web/login"
	"github.com/beeos/beeos/internal/surface/web/page"
)

//go:embed templates
var templates embed.FS

// Options is what the console stands on.
type Options struct {
	DB        *store.Store
	Ledger    *ledger.Ledger
	Bus       *bus.Bus // nil: pages do not refresh themselves when calls come
	Approvals *approval.Approvals
	Calls     *invoke.Calls
	Acts      *act.Acts
	Files     *files.Files // nil: files cannot be attached
	People    *signin.People
	OAuth     *oauth.Server
	OIDC      *signin.OIDC // nil: no outside provider
	Log       *slog.Logger
	Now       func() time.Time // nil = time.Now

	// Where people and programs reach the surfaces, without a slash at the end.
	PublicURL, MCPURL, RESTURL string

	// Online says whether an agent is connected.
	Online func(ctx context.Context, agentID string) bool

	// Card shows an agent as A2A peers see it; nil where that surface is not.
	Card func(*beeos.Agent) (Card, error)
}

// Site is the console.
type Site struct {
	Options
	*page.Server
	signIn *login.SignIn
}

// New parses the templates and lays out the site.
func New(opt Options) (*Site, error) {
	if opt.DB == nil || opt.Ledger == nil || opt.Approvals == nil || opt.Calls == nil || opt.Acts == nil || opt.People == nil || opt.OAuth == nil {
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
	s := &Site{Options: opt}
	var err error
	s.Server, err = page.New(page.Options{
		People: opt.People, Log: opt.Log, Now: opt.Now, PublicURL: opt.PublicURL, CountWaiting: opt.DB.Approvals.CountOpen,
	})
	if err != nil {
		return nil, err
	}
	if err := s.mountRooms(); err != nil {
		return nil, err
	}
	if opt.Bus != nil {
		s.refreshOn(opt.Bus)
	}
	return s, nil
}

// mountRooms adds the owners' pages, and the rooms that are packages of their
// own.
func (s *Site) mountRooms() (err error) {
	if err := s.AddTemplates(templates); err != nil {
		return err
	}
	s.addRoutes()
	s.signIn, err = login.Mount(login.Options{
		Pages: s.Server, Agents: s.DB.Agents, Users: s.DB.People, People: s.People, OAuth: s.OAuth, OIDC: s.OIDC, Log: s.Log, MCPURL: s.MCPURL, Online: s.online,
	})
	if err != nil {
		return err
	}
	_, err = chat.Mount(chat.Options{
		Pages: s.Server, Agents: s.DB.Agents, Approvals: s.DB.Approvals, Ledger: s.Ledger, Bus: s.Bus, Calls: s.Calls, Files: s.Files, Log: s.Log,
		Online: s.online, DescribeAgent: s.describeAgent, ShowApprovals: s.approvalRows, Acts: s.Acts,
	})
	return err
}

// refreshOn makes open pages refresh themselves when calls and decisions come.
func (s *Site) refreshOn(b *bus.Bus) {
	b.OnNotice(func(n bus.Notice) {
		if n.Terminal || n.Type == beeos.ChatMessage || n.Type == "" {
			s.WakeStreams()
		}
	})
	b.OnControl(func(c bus.Control) {
		if c.Kind == bus.ApprovalChanged {
			s.WakeStreams()
		}
	})
}

// online reports whether an agent can be reached now.
func (s *Site) online(ctx context.Context, a *beeos.Agent) bool {
	return a.Active && s.Online != nil && s.Online(ctx, a.ID)
}

// describeAgent is agentRow for an agent of which nothing else is known yet.
func (s *Site) describeAgent(ctx context.Context, a *beeos.Agent) (page.AgentRow, error) {
	b, err := s.builtin(ctx, a)
	if err != nil {
		return page.AgentRow{}, err
	}
	return s.agentRow(ctx, a, b), nil
}
