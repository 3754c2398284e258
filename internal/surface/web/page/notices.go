package page

// notices is what the page after a change can say, by the code in its address:
// the address never carries text.
var notices = map[string]string{
	"saved": "Saved.",

	"created":          "The agent has been created. It connects within seconds.",
	"agent-changed":    "Saved. The agent restarts with the change once its current answers are done.",
	"agent-stopped":    "The agent has been stopped. Callers are told that it is offline.",
	"agent-started":    "The agent has been started. It connects within seconds.",
	"agent-deleted":    "The agent has been deleted, with its keys and everything its skills were given.",
	"skill-added":      "The skill has been added.",
	"skill-removed":    "The skill has been removed, with everything it was given.",
	"skill-authorized": "Authorized. The agent can use the skill now.",
	"skill-forgotten":  "The authorization has been forgotten. The server may still list it; revoke it there, too.",
	"tool-accepted":    "Accepted. The model sees the tool as it is now.",

	"titled":       "Renamed.",
	"chat-deleted": "The conversation has been deleted.",

	"approved":       "Approved. The agent continues.",
	"rejected":       "Rejected. The agent has been told.",
	"voted":          "Your yes is counted. The call waits for others to say yes, too.",
	"grant-gone":     "It has ended. What is asked from now on waits for somebody.",
	"task-canceled":  "The agent has been asked to stop.",
	"redelivered":    "It is sent once more, at once.",
	"channel-made":   "You are told there from now on, also of what waits already.",
	"channel-tested": "A test is on its way. Reload to see what came of it.",
	"channel-gone":   "The channel has been deleted. What was still to be sent there is not.",
	"key-limited":    "Saved. The key's new limit holds from its next call on.",
	"key-revoked":    "The key has been revoked. It stopped working at once.",
	"app-revoked":    "The app has been disconnected. Its tokens stopped working.",
	"app-changed":    "Saved. The app now reaches the agents you left ticked.",
	"budget-set":     "Saved. The budget counts from the next call on.",
	"budget-gone":    "The budget has been deleted.",
	"renamed":        "Your name has been changed.",
	"password":       "Your password has been changed. Your other sessions were signed out.",
	"ended":          "That session has been signed out.",
	"withdrawn":      "The invitation has been withdrawn. Its link no longer works.",
	"disabled":       "The account has been disabled: signed out everywhere, keys and agents included.",
	"enabled":        "The account has been enabled again.",
	"admin":          "They are an admin now.",
	"no-admin":       "They are no longer an admin.",
	"signed-out":     "You are signed out.",
	"everywhere":     "You are signed out everywhere.",
}
