package audit

// What the trail calls what was done: a noun and a verb. The subject of a row is
// the id of the noun, and of nothing else. Decisions about approvals are called
// "approval." and the state that they led to.
const (
	AgentCreate     = "agent.create" // also of a built-in agent that is deployed
	AgentUpdate     = "agent.update"
	AgentDelete     = "agent.delete"
	AgentDeactivate = "agent.deactivate" // its instance no longer serves it
	AgentStart      = "agent.start"
	AgentStop       = "agent.stop"
	AgentRestart    = "agent.restart"

	SkillConnect    = "skill.connect" // the subject of skill acts is the agent
	SkillDisconnect = "skill.disconnect"
	SkillAuthorize  = "skill.authorize"
	SkillForget     = "skill.forget"
	SkillAccept     = "skill.accept"

	KeyCreate       = "key.create"
	KeyUpdate       = "key.update"
	KeyRevoke       = "key.revoke"
	JoinTokenCreate = "join_token.create" // the subject is the user whom it lets join
	InstanceJoin    = "instance.join"
	InstanceRevoke  = "instance.revoke"

	ApprovalPolicy = "approval.policy" // the subject is the agent
	ApprovalLink   = "approval.link"
	ApprovalVote   = "approval.voted"        // a yes that others have to join
	ApprovalGrant  = "approval_grant.create" // a yes for more than one call
	ApprovalRevoke = "approval_grant.end"
	WebhookCreate  = "webhook.create"
	WebhookDelete  = "webhook.delete"
	WebhookRepeat  = "webhook.redeliver"

	ChannelCreate = "notification_channel.create"
	ChannelDelete = "notification_channel.delete"
	ChannelTest   = "notification_channel.test"
	ChannelRepeat = "notification_channel.redeliver"

	ConversationClear  = "conversation.clear"
	ConversationDelete = "conversation.delete"
	ConversationModel  = "conversation.model"
	ConversationRename = "conversation.rename"

	CallReplay = "call.replay"

	BudgetSet    = "budget.set"
	BudgetDelete = "budget.delete"

	UserCreate       = "user.create"
	UserInvite       = "user.invite" // the subject is the invitation
	UserWithdraw     = "user.withdraw"
	UserResetLink    = "user.reset_link"
	UserDisable      = "user.disable"
	UserEnable       = "user.enable"
	UserAdmin        = "user.admin"
	UserRename       = "user.rename"
	UserPassword     = "user.password" // a new one
	UserAccept       = "user.accept"   // an invitation
	UserSignIn       = "user.sign_in"
	UserSignInFailed = "user.sign_in_failed"
	UserEndSession   = "user.end_session"
	UserSignOut      = "user.sign_out_everywhere"

	GrantAllow  = "grant.allow"
	GrantRefuse = "grant.refuse" // another browser answered
	GrantReuse  = "grant.reuse"  // a refresh token came twice
	GrantNarrow = "grant.narrow"
	GrantRevoke = "grant.revoke"
	KeyRotate   = "signing_key.rotate"
)
