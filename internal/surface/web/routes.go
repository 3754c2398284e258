package web

import (
	"github.com/beeos/beeos/internal/outward/builtin"
	"github.com/beeos/beeos/internal/surface/web/page"
)

// addRoutes is the site map of the owners' pages; chat and signin have their
// own.
func (s *Site) addRoutes() {
	for _, r := range []struct {
		pattern string
		who     page.Audience
		do      page.Action
	}{
		{"GET /{$}", page.SignedIn, s.home},
		{"GET /live", page.SignedIn, s.homeLive},

		{"GET /agents", page.SignedIn, s.agents},
		{"POST /agents", page.SignedIn, s.createAgent},
		{"GET /agents/live", page.SignedIn, s.agentsLive},
		{"GET /agents/new", page.SignedIn, s.newAgent},
		{"GET /agents/{agent}", page.SignedIn, s.agent},
		{"GET /agents/{agent}/live", page.SignedIn, s.agentLive},
		{"POST /agents/{agent}/settings", page.SignedIn, s.setAgent},
		{"POST /agents/{agent}/keys", page.SignedIn, s.createAgentKey},
		{"POST /agents/{agent}/keys/{key}/revoke", page.SignedIn, s.revokeAgentKey},

		{"POST /agents/{agent}/builtin", page.SignedIn, s.changeBuiltin},
		{"POST /agents/{agent}/stopped", page.SignedIn, s.setStopped},
		{"GET /agents/{agent}/delete", page.SignedIn, s.deletePage},
		{"POST /agents/{agent}/delete", page.SignedIn, s.deleteAgent},

		{"GET /agents/{agent}/skills", page.SignedIn, s.skills},
		{"GET /agents/{agent}/skills/live", page.SignedIn, s.skillsLive},
		{"POST /agents/{agent}/skills", page.SignedIn, s.addServer},
		{"POST /agents/{agent}/skills/{skill}/remove", page.SignedIn, s.removeServer},
		{"POST /agents/{agent}/skills/{skill}/authorize", page.SignedIn, s.authorizeSkill},
		{"POST /agents/{agent}/skills/{skill}/forget", page.SignedIn, s.forgetSkill},
		{"POST /agents/{agent}/skills/{skill}/accept", page.SignedIn, s.acceptTool},
		{"POST /agents/{agent}/approvals", page.SignedIn, s.setRules},
		{"GET " + builtin.Authorized, page.SignedIn, s.authorized},
		{"GET " + builtin.Document, page.Anyone, s.clientDocument},

		{"GET /approvals", page.SignedIn, s.approvals},
		{"GET /approvals/live", page.SignedIn, s.approvalsLive},
		{"GET /approvals/history", page.SignedIn, s.approvalHistory},
		{"POST /approvals/{id}/approve", page.SignedIn, s.decideApproval},
		{"POST /approvals/{id}/reject", page.SignedIn, s.decideApproval},
		{"GET /approve", page.Anyone, s.approvePage},
		{"POST /approve", page.Anyone, s.approveByLink},

		{"GET /apps", page.SignedIn, s.apps},
		{"POST /apps/{grant}/narrow", page.SignedIn, s.narrowApp},
		{"POST /apps/{grant}/revoke", page.SignedIn, s.revokeApp},

		{"GET /keys", page.SignedIn, s.keys},
		{"POST /keys", page.SignedIn, s.createKey},
		{"POST /keys/{key}/revoke", page.SignedIn, s.revokeKey},

		{"GET /account", page.SignedIn, s.account},
		{"POST /account/name", page.SignedIn, s.rename},
		{"POST /account/password", page.SignedIn, s.changePassword},
		{"POST /account/sessions/{login}/end", page.SignedIn, s.endSession},
		{"POST /account/signout-everywhere", page.SignedIn, s.signOutEverywhere},

		{"GET /users", page.Admins, s.users},
		{"POST /users", page.Admins, s.invite},
		{"POST /users/{user}/reset", page.Admins, s.resetLink},
		{"POST /users/{user}/disabled", page.Admins, s.setDisabled},
		{"POST /users/{user}/admin", page.Admins, s.setAdmin},
		{"POST /invitations/{link}/withdraw", page.Admins, s.withdraw},

		{"GET /audit", page.SignedIn, s.auditPage},

		// The address of a form, where the browser was left, opened again.
		{"GET /agents/{agent}/{form}", page.SignedIn, s.toAgent},
		{"GET /agents/{agent}/skills/{skill}/{form}", page.SignedIn, s.toSkills},
		{"GET /agents/{agent}/approvals", page.SignedIn, s.toSkills},
		{"GET /account/{form}", page.SignedIn, page.RedirectTo("/account")},
		{"GET /approvals/{id}/{form}", page.SignedIn, page.RedirectTo("/approvals")},
		{"GET /users/{user}/{form}", page.Admins, page.RedirectTo("/users")},
	} {
		s.Handle(r.pattern, r.who, r.do)
	}
}
