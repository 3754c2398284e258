// Package rest is the REST surface (port 8095): it translates HTTP into
// calls of store, ledger and invoke, and decides nothing itself. The table in
// Handler is its site map; each resource has a file: login, agents, keys (of
// users and of agents), join tokens, invoke, files, tasks (taskturn.go is one of
// them), webhooks, conversations (conversation.go), instances (deploy.go: those
// that are built-in agents), approvals and their rules, audit, and the Message
// Service: channels, messages, events. body.go and page.go read requests,
// access.go says who may do what, keyed_act.go does once what has an idempotency
// key and is no message, document.go serves what api/openapi.yaml says about it all.
package rest

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/access/act"
	"github.com/beeos/beeos/internal/access/approval"
	"github.com/beeos/beeos/internal/access/auth"
	"github.com/beeos/beeos/internal/access/oauth"
	"github.com/beeos/beeos/internal/access/signin"
	"github.com/beeos/beeos/internal/engine/files"
	"github.com/beeos/beeos/internal/engine/invoke"
	"github.com/beeos/beeos/internal/engine/ledger"
	"github.com/beeos/beeos/internal/engine/webhook"
	"github.com/beeos/beeos/internal/store"
	"github.com/beeos/beeos/internal/wire/httpd"
)

// Body limits: what carries a message may be big, the rest is settings.
const (
	messageLimit = 1 << 20
	settingLimit = 64 << 10
)

// Surface holds what the routes need.
type Surface struct {
	DB     *store.Store
	Ledger *ledger.Ledger
	Calls  *invoke.Calls
	Desk   *approval.Approvals
	Files  *files.Files
	Hooks  *webhook.Hooks
	Auth   *auth.Authenticator
	People *signin.People
	OAuth  *oauth.Server
	Acts   *act.Acts
	Log    *slog.Logger
	Now    func() time.Time // nil = time.Now

	// MCPURL and A2AURL are the public URLs of those surfaces; each agent's
	// answer carries its own addresses below them.
	MCPURL string
	A2AURL string

	// Online says whether an agent is connected.
	Online func(ctx context.Context, agentID string) bool
	// Connected is Online for an instance.
	Connected func(ctx context.Context, instanceID string) bool
}

func (s *Surface) now() time.Time {
	if s.Now == nil {
		return time.Now()
	}
	return s.Now()
}

// Handler is the site map. Unless it says so, a route takes user keys and the
// tokens of people alone; /files/ is for signed links.
func (s *Surface) Handler() http.Handler {
	mux := http.NewServeMux()
	for _, r := range []struct {
		pattern string
		may     permission
		do      action
	}{
		{"POST /api/v1/auth/login", public, s.logIn},
		{"POST /api/v1/auth/refresh", public, s.refresh},

		{"GET /api/v1/agents", usersOnly, s.listAgents},
		{"GET /api/v1/agents/{agentId}", usersOnly, s.getAgent},
		{"PATCH /api/v1/agents/{agentId}", usersOnly, s.patchAgent},
		{"DELETE /api/v1/agents/{agentId}", usersOnly, s.deleteAgent},
		{"POST /api/v1/agents/{agentId}/invoke", anyKey, s.invoke},

		{"GET /api/v1/agents/{agentId}/keys", usersOnly, s.listAgentKeys},
		{"POST /api/v1/agents/{agentId}/keys", usersOnly, s.createKey},
		{"DELETE /api/v1/agents/{agentId}/keys/{keyId}", usersOnly, s.revokeKey},
		{"GET /api/v1/api-keys", usersOnly, s.listUserKeys},
		{"POST /api/v1/api-keys", usersOnly, s.createKey},
		{"DELETE /api/v1/api-keys/{keyId}", usersOnly, s.revokeKey},
		{"POST /api/v1/join-tokens", usersOnly, s.createJoinToken},

		{"POST /api/v1/agents/{agentId}/tasks", usersOnly, s.createTask},
		{"GET /api/v1/agents/{agentId}/tasks", usersOnly, s.listAgentTasks},
		{"GET /api/v1/tasks", usersOnly, s.listUserTasks},
		{"GET /api/v1/agents/{agentId}/tasks/{taskId}", usersOnly, s.getTask},
		{"GET /api/v1/agents/{agentId}/tasks/{taskId}/messages", usersOnly, s.listTaskMessages},
		{"GET /api/v1/agents/{agentId}/tasks/{taskId}/events", usersOnly, s.streamTaskEvents},
		{"POST /api/v1/agents/{agentId}/tasks/{taskId}/cancel", usersOnly, s.cancelTask},
		{"POST /api/v1/agents/{agentId}/tasks/{taskId}/continue", usersOnly, s.continueTask},
		{"POST /api/v1/agents/{agentId}/tasks/{taskId}/webhooks", usersOnly, s.registerWebhook},
		{"GET /api/v1/agents/{agentId}/tasks/{taskId}/webhooks", usersOnly, s.listWebhooks},
		{"DELETE /api/v1/agents/{agentId}/tasks/{taskId}/webhooks/{webhookId}", usersOnly, s.deleteWebhook},
		{"GET /api/v1/agents/{agentId}/tasks/{taskId}/webhooks/{webhookId}/deliveries", usersOnly, s.listDeliveries},
		{"POST /api/v1/agents/{agentId}/tasks/{taskId}/webhooks/{webhookId}/deliveries/{deliveryId}/redeliver", usersOnly, s.redeliver},

		{"POST /api/v1/agents/{agentId}/conversations", usersOnly, s.createConversation},
		{"GET /api/v1/agents/{agentId}/conversations", usersOnly, s.listConversations},
		{"GET /api/v1/agents/{agentId}/conversations/{convId}", usersOnly, s.getConversation},
		{"PATCH /api/v1/agents/{agentId}/conversations/{convId}", usersOnly, s.renameConversation},
		{"DELETE /api/v1/agents/{agentId}/conversations/{convId}", usersOnly, s.deleteConversation},
		{"POST /api/v1/agents/{agentId}/conversations/{convId}/messages", usersOnly, s.sendConversationMessage},
		{"GET /api/v1/agents/{agentId}/conversations/{convId}/messages", usersOnly, s.listConversationMessages},
		{"GET /api/v1/agents/{agentId}/conversations/{convId}/events", usersOnly, s.streamConversationEvents},
		{"POST /api/v1/agents/{agentId}/conversations/{convId}/cancel", usersOnly, s.cancelConversation},
		{"POST /api/v1/agents/{agentId}/conversations/{convId}/clear", usersOnly, s.clearConversation},
		{"PUT /api/v1/agents/{agentId}/conversations/{convId}/model", usersOnly, s.setConversationModel},

		{"GET /api/v1/instances", usersOnly, s.listInstances},
		{"POST /api/v1/instances", usersOnly, s.deployInstance},
		{"GET /api/v1/instances/{id}", usersOnly, s.getInstance},
		{"DELETE /api/v1/instances/{id}", usersOnly, s.destroyInstance},
		{"POST /api/v1/instances/{id}/start", usersOnly, s.runInstance},
		{"POST /api/v1/instances/{id}/stop", usersOnly, s.runInstance},
		{"POST /api/v1/instances/{id}/restart", usersOnly, s.runInstance},
		{"GET /api/v1/audit", usersOnly, s.listAudit},
		{"GET /api/v1/approvals", usersOnly, s.listApprovals},
		{"GET /api/v1/approvals/{id}", usersOnly, s.getApproval},
		{"POST /api/v1/approvals/{id}/approve", usersOnly, s.approve},
		{"POST /api/v1/approvals/{id}/reject", usersOnly, s.reject},
		{"POST /api/v1/approvals/{id}/link", usersOnly, s.linkApproval},
		{"GET /api/v1/agents/{agentId}/approval-policy", usersOnly, s.getPolicy},
		{"PATCH /api/v1/agents/{agentId}/approval-policy", usersOnly, s.patchPolicy},

		{"POST /api/v1/files/presign-upload", anyKey, s.presignUpload},
		{"GET /api/v1/files/{id}", anyKey, s.getFile},

		{"POST /channels", usersOnly, s.createChannel},
		{"GET /channels/{channel}", usersOnly, s.getChannel},
		{"DELETE /channels/{channel}", usersOnly, s.closeChannel},
		{"POST /channels/{channel}/messages", usersOnly, s.sendMessage},
		{"GET /channels/{channel}/messages", usersOnly, s.listMessages},
		{"GET /channels/{channel}/events", usersOnly, s.streamEvents},
		{"POST /channels/{channel}/wait", usersOnly, s.waitReply},
	} {
		mux.Handle(r.pattern, s.guard(r.may, r.do))
	}
	mux.HandleFunc("/files/{id}", s.signedFile)
	serveDocument(mux)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		httpd.WriteError(w, r, beeos.Errorf(beeos.NotFound, "there is no %s %s on this surface; /docs says what there is", r.Method, r.URL.Path))
	})
	return mux
}
