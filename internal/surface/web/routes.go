package web

import (
	"net/http"

	"github.com/beeos/beeos/internal/outward/builtin"
)

// routes is the site map.
func (s *Site) routes() http.Handler {
	mux := http.NewServeMux()
	for _, r := range []struct {
		pattern string
		who     audience
		do      action
	}{
		{"GET /{$}", people, s.home},
		{"GET /live", people, s.homeLive},

		{"GET /agents", people, s.agents},
		{"POST /agents", people, s.createAgent},
		{"GET /agents/live", people, s.agentsLive},
		{"GET /agents/new", people, s.newAgent},
		{"GET /agents/{agent}", people, s.agent},
		{"GET /agents/{agent}/live", people, s.agentLive},
		{"POST /agents/{agent}/settings", people, s.setAgent},
		{"POST /agents/{agent}/keys", people, s.createAgentKey},
		{"POST /agents/{agent}/keys/{key}/revoke", people, s.revokeAgentKey},

		{"POST /agents/{agent}/builtin", people, s.changeBuiltin},
		{"POST /agents/{agent}/stopped", people, s.setStopped},
		{"GET /agents/{agent}/delete", people, s.deletePage},
		{"POST /agents/{agent}/delete", people, s.deleteAgent},

		{"GET /agents/{agent}/skills", people, s.skills},
		{"GET /agents/{agent}/skills/live", people, s.skillsLive},
		{"POST /agents/{agent}/skills", people, s.addServer},
		{"POST /agents/{agent}/skills/{skill}/remove", people, s.removeServer},
		{"POST /agents/{agent}/skills/{skill}/authorize", people, s.authorizeSkill},
		{"POST /agents/{agent}/skills/{skill}/forget", people, s.forgetSkill},
		{"POST /agents/{agent}/skills/{skill}/accept", people, s.acceptTool},
		{"POST /agents/{agent}/approvals", people, s.setRules},
		{"GET " + builtin.Authorized, people, s.authorized},
		{"GET " + builtin.Document, anyone, s.clientDocument},

		{"GET /agents/{agent}/chat", people, s.chat},
		{"POST /agents/{agent}/chat", senders, s.beginChat},
		{"GET /agents/{agent}/chat/{conversation}", people, s.chatPage},
		{"POST /agents/{agent}/chat/{conversation}", senders, s.say},
		{"GET /agents/{agent}/chat/{conversation}/live", people, s.chatLive},
		{"POST /agents/{agent}/chat/{conversation}/stop", people, s.stopChat},
		{"POST /agents/{agent}/chat/{conversation}/answer", people, s.answerChat},
		{"POST /agents/{agent}/chat/{conversation}/title", people, s.titleChat},
		{"POST /agents/{agent}/chat/{conversation}/delete", people, s.deleteChat},

		{"GET /approvals", people, s.approvals},
		{"GET /approvals/live", people, s.approvalsLive},
		{"GET /approvals/history", people, s.approvalHistory},
		{"GET /approvals/badge/live", people, s.badgeLive},
		{"POST /approvals/{id}/approve", people, s.decideApproval},
		{"POST /approvals/{id}/reject", people, s.decideApproval},
		{"GET /approve", anyone, s.approvePage},
		{"POST /approve", anyone, s.approveByLink},

		{"GET /apps", people, s.apps},
		{"POST /apps/{grant}/narrow", people, s.narrowApp},
		{"POST /apps/{grant}/revoke", people, s.revokeApp},

		{"GET /keys", people, s.keys},
		{"POST /keys", people, s.createKey},
		{"POST /keys/{key}/revoke", people, s.revokeKey},

		{"GET /account", people, s.account},
		{"POST /account/name", people, s.rename},
		{"POST /account/password", people, s.changePassword},
		{"POST /account/sessions/{login}/end", people, s.endSession},
		{"POST /account/signout-everywhere", people, s.signOutEverywhere},
		{"POST /theme", anyone, s.setTheme},

		{"GET /users", admins, s.users},
		{"POST /users", admins, s.invite},
		{"POST /users/{user}/reset", admins, s.resetLink},
		{"POST /users/{user}/disabled", admins, s.setDisabled},
		{"POST /users/{user}/admin", admins, s.setAdmin},
		{"POST /invitations/{link}/withdraw", admins, s.withdraw},

		{"GET /audit", people, s.auditPage},

		{"GET /signin", anyone, s.signInPage},
		{"POST /signin", anyone, s.signIn},
		{"GET /signin/oidc", anyone, s.oidcStart},
		{"GET /signin/oidc/return", anyone, s.oidcReturn},
		{"POST /signout", anyone, s.signOut},
		{"GET /welcome", anyone, s.welcome},
		{"POST /welcome", anyone, s.accept},

		{"GET /mcp-login", people, s.consent},
		{"POST /mcp-login", people, s.decide},

		// Where a form left the browser, opened anew.
		{"GET /agents/{agent}/{form}", people, s.toAgent},
		{"GET /agents/{agent}/skills/{skill}/{form}", people, s.toSkills},
		{"GET /agents/{agent}/approvals", people, s.toSkills},
		{"GET /agents/{agent}/chat/{conversation}/{form}", people, s.toChat},
		{"GET /account/{form}", people, to("/account")},
		{"GET /approvals/{id}/{form}", people, to("/approvals")},
		{"GET /users/{user}/{form}", admins, to("/users")},
	} {
		mux.Handle(r.pattern, s.guard(r.who, r.do))
	}
	mux.Handle("GET /static/", s.files)
	mux.Handle("GET /favicon.ico", http.RedirectHandler(s.files.url("logo.svg"), http.StatusFound))
	mux.Handle("/", s.guard(anyone, s.notFound))
	return s.headers(mux)
}
