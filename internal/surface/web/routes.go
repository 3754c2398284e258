package web

import (
	"github.com/beeos/beeos/internal/outward/builtin"
	"github.com/beeos/beeos/internal/surface/web/page"
)

// addRoutes is the site map of the owners' pages; chat and signin have their
// own.
func (s *Surface) addRoutes() {
	access, settings := page.With(s.findOwnAgent, s.showAccess), page.With(s.findOwnAgent, s.showSettings)
	skills, rules := page.With(s.findOwnAgent, s.showSkills), page.With(s.findOwnAgent, s.showRules)
	for _, r := range []struct {
		pattern string
		who     page.Audience
		do      page.Action
	}{
		{"GET /{$}", page.SignedIn, s.showHome},
		{"GET /live", page.SignedIn, streamActivity(s.showHome, homeActivity)},

		{"GET /agents", page.SignedIn, s.showAgents},
		{"POST /agents", page.SignedIn, page.Form(s.createAgent, s.showNewAgent)},
		{"GET /agents/live", page.SignedIn, page.Live(s.showAgents)},
		{"GET /agents/new", page.SignedIn, s.showNewAgent},
		{"GET /agents/{agent}", page.SignedIn, page.With(s.findOwnAgent, s.showAgent)},
		{"GET /agents/{agent}/live", page.SignedIn, streamActivity(page.With(s.findOwnAgent, s.showAgentOverviewStatus), agentActivity)},
		{"GET /agents/{agent}/status/live", page.SignedIn, page.Live(page.With(s.findOwnAgent, s.showAgentStatus))},

		{"GET /agents/{agent}/access", page.SignedIn, access},
		{"POST /agents/{agent}/access", page.SignedIn, page.Form(s.setAccess, access)},
		{"POST /agents/{agent}/keys", page.SignedIn, page.Form(page.With(s.findOwnAgent, s.createAgentKey), access)},
		{"POST /agents/{agent}/keys/{key}/limit", page.SignedIn, page.Form(s.limitKey, access)},
		{"POST /agents/{agent}/keys/{key}/revoke", page.SignedIn, s.revokeKey},
		{"POST /agents/{agent}/approvals", page.SignedIn, page.Form(page.With(s.findOwnAgent, s.setRules), rules)},

		{"GET /agents/{agent}/settings", page.SignedIn, settings},
		{"POST /agents/{agent}/settings", page.SignedIn, page.Form(s.setAgent, settings)},
		{"POST /agents/{agent}/builtin", page.SignedIn, page.Form(s.changeBuiltin("/settings", "agent-changed", s.changeDefinition), settings)},
		{"POST /agents/{agent}/stopped", page.SignedIn, s.setStopped},
		{"GET /agents/{agent}/delete", page.SignedIn, page.With(s.findOwnAgent, s.confirmDelete)},
		{"POST /agents/{agent}/delete", page.SignedIn, s.deleteAgent},

		{"GET /agents/{agent}/skills", page.SignedIn, skills},
		{"GET /agents/{agent}/skills/live", page.SignedIn, page.Live(page.With(s.findOwnAgent, s.showSkillsStatus))},
		{"POST /agents/{agent}/skills", page.SignedIn, page.Form(s.changeBuiltin("/skills", "skill-added", s.addServer), skills)},
		{"POST /agents/{agent}/skills/{skill}/remove", page.SignedIn, s.changeBuiltin("/skills", "skill-removed", s.removeServer)},
		{"POST /agents/{agent}/skills/{skill}/authorize", page.SignedIn, page.With(s.findOwnBuiltin, s.authorizeSkill)},
		{"POST /agents/{agent}/skills/{skill}/forget", page.SignedIn, s.changeBuiltin("/skills", "skill-forgotten", s.forgetSkill)},
		{"POST /agents/{agent}/skills/{skill}/accept", page.SignedIn, page.Form(s.changeBuiltin("/skills", "tool-accepted", s.acceptTool), skills)},
		{"GET " + builtin.Authorized, page.SignedIn, s.finishAuthorization},
		{"GET " + builtin.Document, page.Anyone, s.serveClientDocument},

		{"GET /approvals", page.SignedIn, s.showApprovals},
		{"GET /approvals/live", page.SignedIn, page.Live(s.showApprovals)},
		{"GET /approvals/history", page.SignedIn, s.showApprovalHistory},
		{"POST /approvals/{id}/approve", page.SignedIn, page.Form(s.decideApproval, s.showApprovals)},
		{"POST /approvals/{id}/reject", page.SignedIn, page.Form(s.decideApproval, s.showApprovals)},
		{"POST /approvals/grants/{grant}/revoke", page.SignedIn, page.Form(s.revokeApprovalGrant, s.showApprovals)},
		{"GET /approve", page.Anyone, s.openApprovalLink},
		{"POST /approve", page.Anyone, s.decideByLink},

		{"GET /marketplace", page.SignedIn, s.showMarketplace},
		{"GET /marketplace/{agent}", page.SignedIn, s.showOffer},

		{"GET /apps", page.SignedIn, s.showApps},
		{"POST /apps/{grant}/narrow", page.SignedIn, s.narrowApp},
		{"POST /apps/{grant}/revoke", page.SignedIn, s.revokeApp},

		{"GET /keys", page.SignedIn, s.showKeys},
		{"POST /keys", page.SignedIn, page.Form(s.createKey, s.showKeys)},
		{"POST /keys/{key}/limit", page.SignedIn, page.Form(s.limitKey, s.showKeys)},
		{"POST /keys/{key}/revoke", page.SignedIn, s.revokeKey},

		{"GET /account", page.SignedIn, s.showAccount},
		{"POST /account/name", page.SignedIn, page.Form(s.renameUser, s.showAccount)},
		{"POST /account/password", page.SignedIn, page.Form(s.changePassword, s.showAccount)},
		{"POST /account/sessions/{login}/end", page.SignedIn, s.endSession},
		{"POST /account/signout-everywhere", page.SignedIn, s.signOutEverywhere},

		{"GET /users", page.Admins, s.showUsers},
		{"POST /users", page.Admins, page.Form(s.inviteUser, s.showUsers)},
		{"POST /users/{user}/reset", page.Admins, page.Form(s.makeResetLink, s.showUsers)},
		{"POST /users/{user}/disabled", page.Admins, page.Form(s.setDisabled, s.showUsers)},
		{"POST /users/{user}/admin", page.Admins, page.Form(s.setAdmin, s.showUsers)},
		{"POST /invitations/{link}/withdraw", page.Admins, s.withdrawInvitation},

		{"GET /audit", page.SignedIn, s.showAudit},
		{"GET /audit/export", page.SignedIn, s.exportAudit},

		// The address of a form, where the browser was left, opened again.
		{"GET /agents/{agent}/{form}", page.SignedIn, s.redirectToAgent},
		{"GET /agents/{agent}/skills/{skill}/{form}", page.SignedIn, s.redirectToSkills},
		{"GET /account/{form}", page.SignedIn, page.RedirectTo("/account")},
		{"GET /approvals/{id}/{form}", page.SignedIn, page.RedirectTo("/approvals")},
		{"GET /approvals/grants/{grant}/revoke", page.SignedIn, page.RedirectTo("/approvals")},
		{"GET /users/{user}/{form}", page.Admins, page.RedirectTo("/users")},
	} {
		s.Handle(r.pattern, r.who, r.do)
	}
}
