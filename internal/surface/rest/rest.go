// Package rest is the REST surface (port 8095): it translates HTTP into calls
// of the parts behind it, and decides nothing itself. Here are the routes on
// which people manage what they own, a file for each resource; those that talk
// to agents are in package calls, and what all routes share in package route.
package rest

import (
	"net/http"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/access/act"
	"github.com/beeos/beeos/internal/access/approval"
	"github.com/beeos/beeos/internal/access/auth"
	"github.com/beeos/beeos/internal/access/oauth"
	"github.com/beeos/beeos/internal/access/signin"
	"github.com/beeos/beeos/internal/engine/bus"
	"github.com/beeos/beeos/internal/engine/files"
	"github.com/beeos/beeos/internal/engine/invoke"
	"github.com/beeos/beeos/internal/engine/ledger"
	"github.com/beeos/beeos/internal/engine/webhook"
	"github.com/beeos/beeos/internal/store"
	"github.com/beeos/beeos/internal/surface/rest/calls"
	"github.com/beeos/beeos/internal/surface/rest/route"
	"github.com/beeos/beeos/internal/wire/httpd"
)

// Options are the parts that the surface stands on.
type Options struct {
	DB        *store.Store // all of it: the routes list rows of seven tables
	Ledger    *ledger.Ledger
	Bus       *bus.Bus
	Calls     *invoke.Calls
	Approvals *approval.Approvals
	Files     *files.Files
	Hooks     *webhook.Hooks
	Auth      *auth.Authenticator
	People    *signin.People
	OAuth     *oauth.Server
	Acts      *act.Acts
	Now       func() time.Time // nil = time.Now

	// MCPURL and A2AURL are the public URLs of those surfaces; each agent's
	// answer carries its own addresses below them.
	MCPURL string
	A2AURL string
}

// Gateway serves the surface.
type Gateway struct {
	http.Handler
	opt    Options
	router *route.Router
}

// New returns a Gateway.
func New(opt Options) *Gateway {
	if opt.Now == nil {
		opt.Now = time.Now
	}
	router := &route.Router{Auth: opt.Auth, Ledger: opt.Ledger, Now: opt.Now}
	mux := http.NewServeMux()
	g := &Gateway{Handler: mux, opt: opt, router: router}
	g.register(mux)
	calls.New(calls.Options{
		Agents: opt.DB.Agents, Webhooks: opt.DB.Webhooks, Ledger: opt.Ledger, Calls: opt.Calls, Hooks: opt.Hooks, Acts: opt.Acts, Router: router, Now: opt.Now,
	}).Register(mux)
	return g
}

// register is the site map of what people own. The routes below /files/ take
// signed links instead of credentials.
func (g *Gateway) register(mux *http.ServeMux) {
	g.router.Handle(mux, route.Public, route.Table{
		"POST /api/v1/auth/login":   g.logIn,
		"POST /api/v1/auth/refresh": g.refresh,
		"/files/{id}":               g.serveSignedFile,
	})
	g.router.Handle(mux, route.AnyKey, route.Table{
		"POST /api/v1/files/presign-upload": g.presignUpload,
		"GET /api/v1/files/{id}":            g.getFile,
	})
	g.router.Handle(mux, route.UsersOnly, route.Table{
		"GET /api/v1/agents":              g.listAgents,
		"GET /api/v1/agents/{agentId}":    g.getAgent,
		"PATCH /api/v1/agents/{agentId}":  g.patchAgent,
		"DELETE /api/v1/agents/{agentId}": g.deleteAgent,

		"GET /api/v1/agents/{agentId}/keys":            g.listKeys,
		"POST /api/v1/agents/{agentId}/keys":           g.createKey,
		"DELETE /api/v1/agents/{agentId}/keys/{keyId}": g.revokeKey,
		"GET /api/v1/api-keys":                         g.listKeys,
		"POST /api/v1/api-keys":                        g.createKey,
		"DELETE /api/v1/api-keys/{keyId}":              g.revokeKey,
		"POST /api/v1/join-tokens":                     g.createJoinToken,

		"GET /api/v1/instances":               g.listInstances,
		"POST /api/v1/instances":              g.deployInstance,
		"GET /api/v1/instances/{id}":          g.getInstance,
		"DELETE /api/v1/instances/{id}":       g.destroyInstance,
		"POST /api/v1/instances/{id}/start":   g.operateInstance("start", g.opt.Acts.StartBuiltin),
		"POST /api/v1/instances/{id}/stop":    g.operateInstance("stop", g.opt.Acts.StopBuiltin),
		"POST /api/v1/instances/{id}/restart": g.operateInstance("restart", g.opt.Acts.RestartBuiltin),

		"GET /api/v1/audit":                              g.listAudit,
		"GET /api/v1/approvals":                          g.listApprovals,
		"GET /api/v1/approvals/{id}":                     route.With(g.pathApproval, g.getApproval),
		"POST /api/v1/approvals/{id}/approve":            g.decide(true),
		"POST /api/v1/approvals/{id}/reject":             g.decide(false),
		"POST /api/v1/approvals/{id}/link":               route.With(g.pathApproval, g.linkApproval),
		"GET /api/v1/agents/{agentId}/approval-policy":   route.With(g.ownAgent, g.getPolicy),
		"PATCH /api/v1/agents/{agentId}/approval-policy": route.With(g.ownAgent, g.patchPolicy),
	})
	serveDocument(mux)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		httpd.WriteError(w, r, beeos.Errorf(beeos.NotFound, "there is no %s %s on this surface; /docs says what there is", r.Method, r.URL.Path))
	})
}
