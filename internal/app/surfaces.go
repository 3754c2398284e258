package app

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/config"
	"github.com/beeos/beeos/internal/engine/price"
	"github.com/beeos/beeos/internal/surface/a2a"
	"github.com/beeos/beeos/internal/surface/agentgateway"
	"github.com/beeos/beeos/internal/surface/mcp"
	"github.com/beeos/beeos/internal/surface/rest"
	"github.com/beeos/beeos/internal/surface/switchboard"
	"github.com/beeos/beeos/internal/surface/web"
	"github.com/beeos/beeos/internal/wire/httpd"
)

// surface is a door: its name for --only, its settings, where its public URL and
// that on this machine are kept, and what makes its handler.
type surface struct {
	name, setting string
	at            config.Surface
	url, local    *string
	open          func(context.Context) (http.Handler, error)
}

// urls is where surfaces are.
type urls struct{ Web, MCP, A2A, REST, Agents string }

// chosen returns the surfaces that this process runs.
func (p *parts) chosen() []surface {
	all := []surface{
		{"web", "WEB_ADDR", p.cfg.Web, &p.public.Web, &p.info.Web, p.openWeb},
		{"mcp", "MCP_ADDR", p.cfg.MCP.Surface, &p.public.MCP, &p.info.MCP, p.openMCP},
		{"a2a", "A2A_ADDR", p.cfg.A2A, &p.public.A2A, &p.info.A2A, p.openA2A},
		{"rest", "OPENAPI_ADDR", p.cfg.REST, &p.public.REST, &p.info.REST, p.openREST},
		{"agents", "AGENT_GATEWAY_ADDR", p.cfg.Agents, &p.public.Agents, &p.info.Agents, p.openAgentGateway},
	}
	var mine []surface
	for _, s := range all {
		if *s.url == "" { // once it is known it stays
			*s.url = s.at.PublicURL
		}
		if p.cfg.Runs(s.name) {
			mine = append(mine, s)
		}
	}
	return mine
}

// listen opens every port.
func (p *parts) listen() error {
	p.info.Data = p.cfg.Data
	p.surfaces = p.chosen()
	var list []httpd.Part
	for _, s := range p.surfaces {
		part := httpd.Part{Name: s.name, Addr: p.ownAddr(s), Setting: s.setting, Watched: s.name == switchboard.Agents}
		if u, err := url.Parse(s.at.PublicURL); err == nil && u.Hostname() != "" {
			part.Hosts, part.HTTPS = []string{u.Hostname()}, u.Scheme == "https"
		}
		list = append(list, part)
	}
	list = append(list, p.addressParts()...)
	if admin, spare := p.cfg.AdminListener(); admin != "" {
		list = append(list, httpd.Part{Name: adminPart, Addr: admin, Spare: spare, Setting: "BEEOS_ADMIN_ADDR", Last: true})
	}
	trusted, err := p.cfg.Proxies()
	if err != nil {
		return err
	}
	if p.server, err = httpd.Listen(list); err != nil {
		return err
	}
	p.locate()
	p.shareConsole()
	p.openAdmin()
	p.server.Log, p.server.Metrics, p.server.Proxies = p.log, p.metrics, &httpd.Proxies{Networks: trusted, Log: p.log}
	if p.public.Web != "" {
		p.server.Help = p.public.Web + "/help/reference/errors"
	}
	p.server.Ready = []httpd.Check{
		{Name: "database", Check: func(ctx context.Context) error { return p.ledger.Ready(ctx) }},
		{Name: "bus", Check: func(context.Context) error { return p.bus.Ready() }},
		{Name: "clock", Check: func(context.Context) error { return p.checkClock() }, Warns: true},
		{Name: "nodes", Check: func(context.Context) error { return p.checkApart() }, Warns: true},
	}
	return nil
}

// checkClock reports that this machine has another time than the database.
func (p *parts) checkClock() error {
	if !p.db.IsOff() {
		return nil
	}
	return fmt.Errorf("this machine's clock is ahead of the database's by %s", p.db.Ahead().Round(time.Second))
}

// locate says where everything is, now that ports are known. With a tunnel the
// public and this machine call it by different names.
func (p *parts) locate() {
	p.gateway = p.public.Agents
	for _, s := range p.surfaces {
		here := config.URLFor(p.server.Addr(s.name))
		if *s.url == "" { // the port was 0: now it is known
			*s.url = here
		}
		if len(p.cfg.Domain) == 0 {
			continue
		}
		if s.name == switchboard.Agents && here != "" {
			p.gateway = here
		}
		if p.cfg.Dev {
			*s.local, p.server.Part(s.name).Local = here, here
		}
	}
	info, public := &p.info, p.public
	for local, url := range map[*string]string{&info.Web: public.Web, &info.MCP: public.MCP, &info.A2A: public.A2A, &info.REST: public.REST, &info.Agents: public.Agents} {
		*local = cmp.Or(*local, url)
	}
	if p.gateway == "" {
		p.gateway = p.public.Agents
	}
}

// mount gives every listener its surface.
func (p *parts) mount(ctx context.Context) error {
	for _, s := range p.surfaces {
		h, err := s.open(ctx)
		if err != nil {
			return err
		}
		p.server.Handle(s.name, h)
	}
	return nil
}

func (p *parts) openWeb(context.Context) (http.Handler, error) {
	return web.New(web.Options{
		Agents: p.db.Agents, Builtins: p.db.Builtins, Users: p.db.People, ApprovalTable: p.db.Approvals, Trail: p.db.Audit,
		Ledger: p.ledger, Bus: p.bus, Approvals: p.approvals, Calls: p.calls, Acts: p.acts, Files: p.files, People: p.people, OAuth: p.oauth, OIDC: p.oidc, Log: p.log, Now: p.opt.Now,
		PublicURL: p.public.Web, MCPURL: p.public.MCP, A2AURL: p.public.A2A, RESTURL: p.public.REST, GatewayURL: p.public.Agents, Bridges: p.opt.Bridges,
		Online: p.bus.Present, Card: p.card(), Streams: p.auth.Streams,
	})
}

// card shows an agent as A2A peers see it; nil where that surface is not.
func (p *parts) card() func(*beeos.Agent) (web.Card, error) {
	if !p.cfg.Runs("a2a") {
		return nil
	}
	return func(a *beeos.Agent) (web.Card, error) {
		seen, err := p.peers.Preview(a)
		return web.Card{URL: seen.URL, Whole: seen.Whole, Redacted: seen.Redacted}, err
	}
}

func (p *parts) openMCP(context.Context) (http.Handler, error) {
	g, err := mcp.New(mcp.Options{
		Context: p.doors, Agents: p.db.Agents, Sessions: p.db.Sessions, Cluster: p.db.Cluster, Auth: p.auth, OAuth: p.oauth, Calls: p.calls, Acts: p.acts, PublicURL: p.public.MCP, A2AURL: p.public.A2A,
		Origins: p.cfg.MCP.Origins, Strict: p.cfg.MCP.Strict, Log: p.log, Bus: p.bus, NodeDead: nodeDead, Answered: p.metrics.Operation,
	})
	if err != nil {
		return nil, err
	}
	p.run = append(p.run, g.Run)
	return g, nil
}

func (p *parts) openA2A(ctx context.Context) (http.Handler, error) {
	g, err := a2a.New(a2a.Options{
		Context: ctx, Cluster: p.db.Cluster, Auth: p.auth, Calls: p.calls, Hooks: p.hooks, Acts: p.acts, PublicURL: p.public.A2A, Timeout: p.cfg.CallTimeout,
	})
	p.peers = g
	return g, err
}

func (p *parts) openREST(context.Context) (http.Handler, error) {
	return rest.New(rest.Options{
		DB: p.db, Ledger: p.ledger, Bus: p.bus, Calls: p.calls, Approvals: p.approvals, Files: p.files, Hooks: p.hooks, Auth: p.auth, People: p.people, OAuth: p.oauth,
		Acts: p.acts, MCPURL: p.public.MCP, A2AURL: p.public.A2A,
	}), nil
}

func (p *parts) openAgentGateway(context.Context) (http.Handler, error) {
	prices, err := price.Load(filepath.Join(p.cfg.Data, "prices.json"))
	if err != nil {
		return nil, err
	}
	g := agentgateway.New(agentgateway.Options{Agents: p.db.Agents, Instances: p.db.Instances, Audit: p.db.Audit, Auth: p.auth, Ledger: p.ledger, Bus: p.bus, Calls: p.calls, Files: p.files, Approvals: p.approvals, Prices: prices, Log: p.log})
	p.run = append(p.run, g.Run)
	p.metrics.Gauge("connected_agents", "Connections of agents. Of this node.", func() float64 { return float64(g.Connections()) })
	p.metrics.Gauge("overdue_agents", "Connections of agents that were given work and give no sign of life. Of this node.", func() float64 { return float64(g.Overdue()) })
	return g, nil
}
