package app

import (
	"context"
	"crypto/tls"
	"net/http"

	"github.com/beeos/beeos/internal/config"
	"github.com/beeos/beeos/internal/store/cluster"
	"github.com/beeos/beeos/internal/surface/switchboard"
	"github.com/beeos/beeos/internal/wire/certs"
	"github.com/beeos/beeos/internal/wire/httpd"
	"github.com/beeos/beeos/internal/wire/seal"
)

// The listeners of the one address, and of HTTP beside it.
const (
	addressPart  = "address"
	redirectPart = "redirect"
)

// certificates are those of the domain: ordered, or read from files.
type certificates interface {
	TLS() *tls.Config
	Run(context.Context) error
}

// ownAddr is where a surface listens by itself; "" = nowhere. Agents inside this
// process need a way to the gateway that no certificate and no name stands in.
func (p *parts) ownAddr(s surface) string {
	if s.at.Addr == "" && s.name == switchboard.Agents && p.cfg.Runs("worker") {
		return "127.0.0.1:0"
	}
	return s.at.Addr
}

// addressParts are the listeners that the surfaces share, if they do.
func (p *parts) addressParts() []httpd.Part {
	if !p.cfg.HasAddress() || len(p.surfaces) == 0 {
		return nil
	}
	board := p.board(p.cfg.SurfacesByHost())
	parts := []httpd.Part{{
		Name: addressPart, Addr: p.cfg.Addr[0], Setting: "BEEOS_ADDR", Public: true, HTTPS: true, Watched: p.cfg.Runs(switchboard.Agents),
		Handler: board, Pick: board.Pick,
	}}
	if len(p.cfg.Addr) > 1 {
		parts = append(parts, httpd.Part{
			Name: redirectPart, Addr: p.cfg.Addr[1], Setting: "BEEOS_ADDR", Public: true, Handler: http.HandlerFunc(board.Redirect),
		})
	}
	return parts
}

// shareConsole lets everything be reached at the console's port in beeos dev, so
// that one tunnel shows it all.
func (p *parts) shareConsole() {
	if !p.cfg.Dev || !p.cfg.Runs(switchboard.Web) {
		return
	}
	part := p.server.Part(switchboard.Web)
	part.Pick, part.Local = p.board(nil).Pick, config.URLFor(p.server.Addr(switchboard.Web))
	if len(p.cfg.Domain) > 0 {
		p.info.Public = p.public.Web
	}
}

func (p *parts) board(hosts map[string]string) *switchboard.Board {
	b := &switchboard.Board{Hosts: hosts, URLs: map[string]string{
		switchboard.Web: p.public.Web, switchboard.MCP: p.public.MCP, switchboard.A2A: p.public.A2A, switchboard.REST: p.public.REST, switchboard.Agents: p.public.Agents,
	}}
	for _, s := range p.surfaces {
		b.Runs = append(b.Runs, s.name)
	}
	return b
}

// mcpBases are the URLs below which MCP endpoints are beside the public one.
func (p *parts) mcpBases() []string {
	var bases []string
	for _, name := range []string{switchboard.MCP, switchboard.Web} {
		if p.cfg.Runs(name) && p.server.Part(name).Local != "" {
			bases = append(bases, p.server.Part(name).Local)
		}
	}
	return bases
}

// openCertificates gives the one address its certificates, unless a proxy in
// front of it has them.
func (p *parts) openCertificates(ctx context.Context) error {
	if !p.cfg.HasAddress() || len(p.surfaces) == 0 || p.cfg.Cert == config.CertOff {
		return nil
	}
	names := p.cfg.Hosts()
	var err error
	if cert, key := p.cfg.CertFiles(); cert != "" {
		p.certs, err = certs.OpenFiles(cert, key, names, p.log)
	} else {
		p.certs, err = p.openACME(ctx, names)
	}
	if err != nil {
		return err
	}
	p.server.Part(addressPart).TLS = p.certs.TLS()
	p.run = append(p.run, p.certs.Run)
	return nil
}

func (p *parts) openACME(ctx context.Context, names []string) (certificates, error) {
	key, err := p.db.Cluster.Secret(ctx, cluster.CertificatesSealedWith, seal.NewKey)
	if err != nil {
		return nil, err
	}
	sealer, err := seal.New(key)
	if err != nil {
		return nil, err
	}
	holder := "the only node"
	if p.db.Cluster.Shareable() {
		holder = p.node
	}
	ordered := certs.NewACME(certs.Options{
		Names: names, Directory: p.cfg.ACME.Directory, Email: p.cfg.ACME.Email,
		Store: p.db.Cluster, Sealer: sealer, Place: cluster.CertificatePlace, Holder: holder, Log: p.log,
	})
	if len(p.cfg.Addr) > 1 {
		redirect := p.server.Part(redirectPart)
		redirect.Handler = ordered.Challenges(redirect.Handler)
	}
	return ordered, nil
}
