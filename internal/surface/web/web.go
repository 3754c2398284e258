// Package web is the console (port 3000): pages for people, made of templates
// on the server, with htmx where it makes them smoother. routes.go is the site
// map. The pages of owners are here, a file each: home, activity with the charts of
// home and of an agent, agents, agent with its
// settings and its A2A card, builtin for agents that are made here, skills with
// their servers and the rules for approvals, marketplace with what people offer
// each other, approvals, keys, apps (what was granted), account, users, audit;
// approval_link is for links that let somebody decide. The other rooms are packages of their own: connect for
// agents that are to come, explorer for calls, playground for tools, health for how an agent does,
// webhooks, channels, tasks, usage, budgets,
// system for admins, help for everybody, chat and its transcript, and login. They share page (templates, sessions, streams) and safetext (what
// others wrote, made safe to show).
package web

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"log/slog"
	"strings"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/docs"
	"github.com/beeos/beeos/internal/access/act"
	"github.com/beeos/beeos/internal/access/approval"
	"github.com/beeos/beeos/internal/access/auth"
	"github.com/beeos/beeos/internal/access/oauth"
	"github.com/beeos/beeos/internal/access/signin"
	"github.com/beeos/beeos/internal/engine/bus"
	"github.com/beeos/beeos/internal/engine/files"
	"github.com/beeos/beeos/internal/engine/invoke"
	"github.com/beeos/beeos/internal/engine/ledger"
	"github.com/beeos/beeos/internal/store/agents"
	"github.com/beeos/beeos/internal/store/approvals"
	"github.com/beeos/beeos/internal/store/audit"
	"github.com/beeos/beeos/internal/store/builtins"
	"github.com/beeos/beeos/internal/store/people"
	"github.com/beeos/beeos/internal/surface/web/budgets"
	"github.com/beeos/beeos/internal/surface/web/channels"
	"github.com/beeos/beeos/internal/surface/web/chat"
	"github.com/beeos/beeos/internal/surface/web/connect"
	"github.com/beeos/beeos/internal/surface/web/explorer"
	"github.com/beeos/beeos/internal/surface/web/health"
	"github.com/beeos/beeos/internal/surface/web/help"
	"github.com/beeos/beeos/internal/surface/web/login"
	"github.com/beeos/beeos/internal/surface/web/page"
	"github.com/beeos/beeos/internal/surface/web/playground"
	"github.com/beeos/beeos/internal/surface/web/system"
	"github.com/beeos/beeos/internal/surface/web/tasks"
	"github.com/beeos/beeos/internal/surface/web/usage"
	"github.com/beeos/beeos/internal/surface/web/webhooks"
)

//go:embed templates
var templates embed.FS

// Options is what the console stands on.
type Options struct {
	Agents        *agents.Table
	Builtins      *builtins.Table
	Users         *people.Table
	ApprovalTable *approvals.Table
	Trail         *audit.Table
	Ledger        *ledger.Ledger
	Bus           *bus.Bus // nil: pages do not refresh themselves when calls come
	Approvals     *approval.Approvals
	Calls         *invoke.Calls
	Acts          *act.Acts
	Files         *files.Files // nil: files cannot be attached
	People        *signin.People
	OAuth         *oauth.Server
	OIDC          *signin.OIDC // nil: no outside provider
	Log           *slog.Logger
	Now           func() time.Time // nil = time.Now
	Streams       *auth.Streams    // nil: those of the console alone are counted

	// Where people and programs reach the surfaces, without a slash at the end.
	PublicURL, MCPURL, A2AURL, RESTURL string

	// How programs become agents, and where they connect.
	Bridges    []connect.Bridge
	GatewayURL string

	// Online says whether an agent is connected.
	Online func(ctx context.Context, agentID string) bool

	// Card shows an agent as A2A peers see it; nil where that surface is not.
	Card func(*beeos.Agent) (Card, error)
}

// Surface is the console.
type Surface struct {
	Options
	*page.Server
	explorer *explorer.Explorer
	series   recent[act.Series]
	unsent   recent[int]
}

// New parses the templates and lays out the site.
func New(opt Options) (*Surface, error) {
	if opt.Agents == nil || opt.Builtins == nil || opt.Users == nil || opt.ApprovalTable == nil || opt.Trail == nil || opt.Ledger == nil || opt.Approvals == nil || opt.Calls == nil || opt.Acts == nil || opt.People == nil || opt.OAuth == nil {
		return nil, errors.New("web: a part is missing")
	}
	opt.Log = cmp.Or(opt.Log, slog.New(slog.DiscardHandler))
	if opt.Now == nil {
		opt.Now = time.Now
	}
	for _, u := range []*string{&opt.PublicURL, &opt.MCPURL, &opt.A2AURL, &opt.RESTURL, &opt.GatewayURL} {
		*u = strings.TrimRight(*u, "/")
	}
	s := &Surface{Options: opt}
	var err error
	s.Server, err = page.New(page.Options{
		People: opt.People, Log: opt.Log, Now: opt.Now, PublicURL: opt.PublicURL, Streams: opt.Streams,
		CountWaiting: func(ctx context.Context, userID string) (int, error) {
			return opt.ApprovalTable.CountOpen(ctx, userID, opt.Now())
		},
	})
	if err != nil {
		return nil, err
	}
	if err := s.mountRooms(); err != nil {
		return nil, err
	}
	if opt.Bus != nil {
		s.refreshPages(opt.Bus)
	}
	return s, nil
}

// mountRooms adds the owners' pages, and the rooms that are packages of their
// own.
func (s *Surface) mountRooms() error {
	if err := s.AddTemplates(templates); err != nil {
		return err
	}
	s.addRoutes()
	err := login.Mount(login.Options{
		Pages: s.Server, Agents: s.Agents, Users: s.Users, People: s.People, OAuth: s.OAuth, OIDC: s.OIDC, Log: s.Log, MCPURL: s.MCPURL, Online: s.isOnline,
	})
	if err != nil {
		return err
	}
	if s.explorer, err = explorer.Mount(explorer.Options{
		Pages: s.Server, Agents: s.Agents, Builtins: s.Builtins, Acts: s.Acts, Now: s.Now, RESTURL: s.RESTURL, MCPURL: s.MCPURL, NameCallers: s.nameCallers, ShowApprovals: s.describeApprovals,
	}); err != nil {
		return err
	}
	if err := playground.Mount(playground.Options{
		Pages: s.Server, Acts: s.Acts, Calls: s.Calls, FindAgent: s.findOwnAgent, DescribeAgent: s.describeAgent, ShowApprovals: s.describeApprovals,
	}); err != nil {
		return err
	}
	if err := health.Mount(health.Options{Pages: s.Server, Acts: s.Acts, FindAgent: s.findOwnAgent, DescribeAgent: s.describeAgent}); err != nil {
		return err
	}
	if err := connect.Mount(connect.Options{
		Pages: s.Server, Agents: s.Agents, Acts: s.Acts, Bridges: s.Bridges, Gateway: s.GatewayURL, DescribeAgent: s.describeAgent,
		ListSnippets: func(a *beeos.Agent) []page.Snippet { return s.listSnippets(a, "") },
	}); err != nil {
		return err
	}
	if err := webhooks.Mount(webhooks.Options{Pages: s.Server, Acts: s.Acts}); err != nil {
		return err
	}
	if err := channels.Mount(channels.Options{Pages: s.Server, Acts: s.Acts}); err != nil {
		return err
	}
	if err := usage.Mount(usage.Options{Pages: s.Server, Acts: s.Acts, Now: s.Now}); err != nil {
		return err
	}
	if err := budgets.Mount(budgets.Options{Pages: s.Server, Acts: s.Acts}); err != nil {
		return err
	}
	if err := system.Mount(system.Options{Pages: s.Server, Acts: s.Acts, Now: s.Now}); err != nil {
		return err
	}
	if err := help.Mount(help.Options{Pages: s.Server, Files: docs.Files, PublicURL: s.PublicURL, MCPURL: s.MCPURL, A2AURL: s.A2AURL, RESTURL: s.RESTURL, GatewayURL: s.GatewayURL}); err != nil {
		return err
	}
	talk, err := chat.Mount(chat.Options{
		Pages: s.Server, Agents: s.Agents, Approvals: s.ApprovalTable, Ledger: s.Ledger, Bus: s.Bus, Calls: s.Calls, Files: s.Files, Log: s.Log,
		Online: s.isOnline, DescribeAgent: s.describeAgent, ShowApprovals: s.describeApprovals, Acts: s.Acts,
	})
	if err != nil {
		return err
	}
	return tasks.Mount(tasks.Options{Pages: s.Server, Agents: s.Agents, Ledger: s.Ledger, Calls: s.Calls, ShowTurn: talk.ShowTurn, AnswerTurn: talk.AnswerTurn})
}

// refreshPages makes open pages refresh themselves when calls and decisions come.
func (s *Surface) refreshPages(b *bus.Bus) {
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

// isOnline reports whether an agent can be reached now.
func (s *Surface) isOnline(ctx context.Context, a *beeos.Agent) bool {
	return a.Active && s.Online != nil && s.Online(ctx, a.ID)
}

// describeAgent is newAgentRow for an agent of which nothing else is known yet.
func (s *Surface) describeAgent(ctx context.Context, a *beeos.Agent) (page.AgentRow, error) {
	b, err := s.findBuiltin(ctx, a)
	if err != nil {
		return page.AgentRow{}, err
	}
	return s.newAgentRow(ctx, a, b), nil
}
