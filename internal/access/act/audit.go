package act

import (
	"context"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store/audit"
)

// Action is what the audit trail calls an act: a noun and a verb. The subject
// of its row is the id of the noun, and of nothing else.
type Action string

const (
	AgentCreate  Action = "agent.create" // also of a built-in agent that is deployed
	AgentUpdate  Action = "agent.update"
	AgentDelete  Action = "agent.delete"
	AgentStart   Action = "agent.start"
	AgentStop    Action = "agent.stop"
	AgentRestart Action = "agent.restart"

	SkillConnect    Action = "skill.connect" // the subject of skill acts is the agent
	SkillDisconnect Action = "skill.disconnect"
	SkillAuthorize  Action = "skill.authorize"
	SkillForget     Action = "skill.forget"
	SkillAccept     Action = "skill.accept"

	KeyCreate       Action = "key.create"
	KeyUpdate       Action = "key.update"
	KeyRevoke       Action = "key.revoke"
	JoinTokenCreate Action = "join_token.create" // the subject is the user whom it lets join
	InstanceRevoke  Action = "instance.revoke"

	ApprovalPolicy Action = "approval.policy" // the subject is the agent
	ApprovalLink   Action = "approval.link"
	WebhookCreate  Action = "webhook.create"
	WebhookDelete  Action = "webhook.delete"
	WebhookRepeat  Action = "webhook.redeliver"

	ChannelCreate Action = "notification_channel.create"
	ChannelDelete Action = "notification_channel.delete"
	ChannelTest   Action = "notification_channel.test"
	ChannelRepeat Action = "notification_channel.redeliver"

	ConversationClear  Action = "conversation.clear"
	ConversationDelete Action = "conversation.delete"
	ConversationModel  Action = "conversation.model"
	ConversationRename Action = "conversation.rename"

	CallReplay Action = "call.replay"

	BudgetSet    Action = "budget.set"
	BudgetDelete Action = "budget.delete"

	UserCreate    Action = "user.create"
	UserInvite    Action = "user.invite" // the subject is the invitation
	UserWithdraw  Action = "user.withdraw"
	UserResetLink Action = "user.reset_link"
	UserDisable   Action = "user.disable"
	UserEnable    Action = "user.enable"
	UserAdmin     Action = "user.admin"
	UserSignOut   Action = "user.sign_out_everywhere"

	GrantNarrow Action = "grant.narrow"
	GrantRevoke Action = "grant.revoke"
	KeyRotate   Action = "signing_key.rotate"
)

// record writes the row about an act into the trail of whom it concerns. The
// deed is done by then, so a failure goes to the log instead of to the caller,
// and a caller who has gone away is written down all the same.
func (a *Acts) record(ctx context.Context, c beeos.Caller, ownerID string, action Action, subject string, detail map[string]string) {
	row := audit.Row{OwnerID: ownerID, At: a.Now(), Actor: actorOf(c), Action: string(action), Subject: subject, Detail: detail}
	if err := a.DB.Audit.Add(context.WithoutCancel(ctx), row); err != nil {
		a.Log.ErrorContext(ctx, "audit row not written", "action", action, "subject", subject, "err", err)
	}
}

// actorOf is how the trail names a caller.
func actorOf(c beeos.Caller) string {
	if c.Kind == beeos.ByOperator {
		return operator
	}
	return c.Principal()
}
