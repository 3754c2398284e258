// Package rest is the REST surface (port 8095): it translates HTTP into calls
// of the parts behind it, and decides nothing itself. Here are the routes on
// which people manage what they own, a file for each resource; those that talk
// to agents are in package calls, and what all routes share in package route.
package rest

import (
	"net/http"
	"time"

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

// Surface serves the surface.
type Surface struct {
	http.Handler
	opt    Options
	router *route.Router
}

// New returns the surface.
func New(opt Options) *Surface {
	if opt.Now == nil {
		opt.Now = time.Now
	}
	router := &route.Router{Auth: opt.Auth, Ledger: opt.Ledger, Now: opt.Now}
	mux := http.NewServeMux()
	g := &Surface{Handler: mux, opt: opt, router: router}
	g.register(mux)
	calls.New(calls.Options{
		Agents: opt.DB.Agents, Webhooks: opt.DB.Webhooks, Ledger: opt.Ledger, Calls: opt.Calls, Hooks: opt.Hooks, Acts: opt.Acts, Router: router, Now: opt.Now,
	}).Register(mux)
	return g
}

// register is the site map of what people own. The routes below /files/ take
// signed links instead of credentials.
func (s *Surface) register(mux *http.ServeMux) {
	s.router.Handle(mux, route.Public, route.Table{
		"POST /api/v1/auth/login":   s.logIn,
		"POST /api/v1/auth/refresh": s.refresh,
		"/files/{id}":               s.serveSignedFile,
		"POST /api/v1/notification-channels/{notificationChannelId}/presses": s.takePress,
	})
	s.router.Handle(mux, route.AnyKey, route.Table{
		"POST /api/v1/files/presign-upload": s.presignUpload,
		"GET /api/v1/files/{id}":            s.getFile,
	})
	s.router.Handle(mux, route.UsersOnly, route.Table{
		"GET /api/v1/marketplace": s.listMarketplace,

		"GET /api/v1/agents":              s.listAgents,
		"GET /api/v1/agents/{agentId}":    s.getAgent,
		"PATCH /api/v1/agents/{agentId}":  s.patchAgent,
		"DELETE /api/v1/agents/{agentId}": s.deleteAgent,

		"GET /api/v1/agents/{agentId}/limits":   route.With(s.ownAgent, s.getLimits),
		"PATCH /api/v1/agents/{agentId}/limits": route.With(s.ownAgent, s.patchLimits),

		"GET /api/v1/agents/{agentId}/keys":            s.listKeys,
		"POST /api/v1/agents/{agentId}/keys":           s.createKey,
		"PATCH /api/v1/agents/{agentId}/keys/{keyId}":  s.patchKey,
		"DELETE /api/v1/agents/{agentId}/keys/{keyId}": s.revokeKey,
		"GET /api/v1/api-keys":                         s.listKeys,
		"POST /api/v1/api-keys":                        s.createKey,
		"PATCH /api/v1/api-keys/{keyId}":               s.patchKey,
		"DELETE /api/v1/api-keys/{keyId}":              s.revokeKey,
		"POST /api/v1/join-tokens":                     s.createJoinToken,

		"GET /api/v1/instances":               s.listInstances,
		"POST /api/v1/instances":              s.deployInstance,
		"GET /api/v1/instances/{id}":          s.getInstance,
		"DELETE /api/v1/instances/{id}":       s.destroyInstance,
		"POST /api/v1/instances/{id}/start":   s.operateInstance("start", s.opt.Acts.StartBuiltin),
		"POST /api/v1/instances/{id}/stop":    s.operateInstance("stop", s.opt.Acts.StopBuiltin),
		"POST /api/v1/instances/{id}/restart": s.restartInstance,

		"GET /api/v1/instances/{id}/operations":           s.listOperations,
		"GET /api/v1/instances/{id}/runtime-capabilities": s.getRuntimeCapabilities,
		"GET /api/v1/deploy/models":                       s.listDeployModels,
		"GET /api/v1/deploy/regions":                      s.listDeployRegions,
		"GET /api/v1/providers":                           s.listProviders,

		"GET /api/v1/calls":                                                    s.listCalls,
		"GET /api/v1/calls/{id}":                                               s.getCall,
		"GET /api/v1/usage":                                                    s.getUsage,
		"GET /api/v1/budgets":                                                  s.listBudgets,
		"POST /api/v1/budgets":                                                 s.setBudget,
		"DELETE /api/v1/budgets/{id}":                                          s.deleteBudget,
		"POST /api/v1/calls/{id}/replay":                                       s.replayCall,
		"GET /api/v1/audit":                                                    s.listAudit,
		"GET /api/v1/approvals":                                                s.listApprovals,
		"GET /api/v1/approvals/{id}":                                           route.With(s.pathApproval, s.getApproval),
		"POST /api/v1/approvals/{id}/approve":                                  s.approveCall,
		"POST /api/v1/approvals/{id}/reject":                                   s.rejectCall,
		"POST /api/v1/approvals/{id}/link":                                     route.With(s.pathApproval, s.linkApproval),
		"GET /api/v1/approval-grants":                                          s.listApprovalGrants,
		"DELETE /api/v1/approval-grants/{approvalGrantId}":                     s.revokeApprovalGrant,
		"GET /api/v1/notification-channels":                                    s.listNotificationChannels,
		"POST /api/v1/notification-channels":                                   s.createNotificationChannel,
		"DELETE /api/v1/notification-channels/{notificationChannelId}":         s.deleteNotificationChannel,
		"POST /api/v1/notification-channels/{notificationChannelId}/test":      s.testNotificationChannel,
		"GET /api/v1/notification-channels/{notificationChannelId}/deliveries": s.listNotificationDeliveries,
		"POST /api/v1/notification-channels/{notificationChannelId}/deliveries/{notificationDeliveryId}/redeliver": s.redeliverNotification,
		"GET /api/v1/agents/{agentId}/approval-policy":                                                             route.With(s.ownAgent, s.getPolicy),
		"PATCH /api/v1/agents/{agentId}/approval-policy":                                                           route.With(s.ownAgent, s.patchPolicy),
	})
	serveDocument(mux)
	mux.HandleFunc("/", refuseUnknownPath)
}
