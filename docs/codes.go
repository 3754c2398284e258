package docs

import "github.com/beeos/beeos"

// Code is what a person needs to know about one error code.
type Code struct {
	Code   beeos.Code
	Means  string // in a few words
	Cause  string
	Remedy string
}

// Codes are all of the vocabulary; a code that is missing here fails a test.
var Codes = []Code{
	{
		beeos.InvalidJSON, "the body is not JSON", "The body cannot be read as one JSON value: it is empty, cut off, has a name twice in one object, or something behind its end.",
		"Send one complete JSON value as UTF-8. In a shell, write it into a file and send that (`--data-binary @body.json`), so that no quote gets lost.",
	},
	{
		beeos.InvalidBody, "JSON of another shape", "A member is unknown, missing or of another type, the nesting is too deep, or the `Content-Type` is not `application/json` (then the status is 415).",
		"The message names the member. Compare the body with the operation at `/docs` of the REST surface.",
	},
	{
		beeos.InvalidParam, "a value that cannot be used", "A parameter is there and does not fit: an empty message, an unknown file, a deadline more than seven days away, arguments that do not fit the tool's schema.",
		"The message names the parameter and what it may be. For a tool, read its `inputSchema` again: it may have changed since you listed it.",
	},
	{
		beeos.MissingParam, "a value is missing", "A parameter that the request needs is absent.",
		"Add the parameter that the message names.",
	},
	{
		beeos.MissingToken, "no credential", "The request has no credential, or has it in a header that this surface does not read. Proxies sometimes drop `Authorization`.",
		"Send `Authorization: Bearer KEY`. Apps for people can sign in instead: the answer's `WWW-Authenticate` says where.",
	},
	{
		beeos.Unauthorized, "a credential that does not count here", "The credential is sound and of the wrong kind: a signature of an instance sent to a surface for callers, or a key sent to the agent gateway.",
		"Use a user key (`oag_…`) or the agent's key (`bak_…`) to call agents; only agents themselves sign.",
	},
	{
		beeos.InvalidToken, "unknown, expired or revoked", "The key or token was mistyped, has expired, was revoked, or was made by another server. An OAuth token also ends when `MCP_PUBLIC_URL` changes.",
		"Make a new key (`beeos keys create`, or API keys in the console). An app that signed in signs in again.",
	},
	{
		beeos.Forbidden, "not yours to do", "The credential is sound, and this is somebody else's, or only for admins. An agent key reaches its own agent and nothing else.",
		"Ask the owner to share the agent, ask an admin, or use a key of your own user.",
	},
	{
		beeos.AgentNotFound, "no such agent for you", "There is no agent of this id, slug or name that you may call. What is private looks the same as what does not exist.",
		"List what you reach (`beeos agent list`). If it is somebody else's, its owner has to make it public, or give you a key of the agent.",
	},
	{
		beeos.NotFound, "no such thing for you", "The task, conversation, file or page does not exist, is somebody else's, or was removed after its time (`BEEOS_RETENTION`).",
		"Check the id, and that you ask with the credential that made it: other credentials do not see it.",
	},
	{
		beeos.Conflict, "not in this state", "An idempotency key is in use by a call under way, or was used for another payload; a task or channel is closed; or the agent refused the message or is busy.",
		"Wait for the first call and read its answer, use a new key for a new request, or try a busy agent again later.",
	},
	{
		beeos.ConfirmationRequired, "this needs a yes", "A call that you replay may do its work a second time: its agent does not say that it may be repeated.",
		"Read the message: it says why. Replay with `confirm` if doing it twice does no harm.",
	},
	{
		beeos.MessageTerminal, "the answer is final", "Something was sent for a message that has its final answer already, often by an agent whose work was given to another instance meanwhile.",
		"Nothing is to be done for the caller. An agent drops the message; if it comes often, let it answer before its lease or the deadline ends.",
	},
	{
		beeos.PayloadTooLarge, "too big", "The body is over the route's limit: 1 MiB for calls, tasks and conversations, 64 KiB elsewhere. A file may have 64 MiB.",
		"Upload the data as a file and pass it as an attachment.",
	},
	{
		beeos.LoginRejected, "wrong e-mail or password", "The pair is unknown, or the person is disabled.",
		"Try again, sign in with the provider if there is one, or ask an admin for a new link.",
	},
	{
		beeos.RateLimited, "too many calls", "The credential made more calls of this agent in a minute than its key, the agent or `BEEOS_RATE_LIMIT` allow.",
		"Wait as long as `Retry-After` says. The owner can raise the limit of the key or of the agent.",
	},
	{
		beeos.BudgetExceeded, "the budget is used up", "What calls of this period cost has reached a budget that the owner or an admin set.",
		"Wait until the period ends (`Retry-After`), or raise the budget: Usage, Budgets in the console.",
	},
	{
		beeos.InternalError, "a fault of ours", "Something failed that the caller could not have prevented.",
		"Look into the server's log for the request id that the answer carries. If it comes again, report it with that line.",
	},
	{
		beeos.AgentOffline, "nobody serves the agent now", "The agent exists, and no process of it is connected.",
		"Start it: `beeos agent run`, `beeos connect` or its own program. Its Health page says when it was last seen, and why it left.",
	},
	{
		beeos.AgentServiceUnavailable, "the agent cannot be reached", "The agent is offline (over MCP, A2A and invoke), the server is stopping, or its database or NATS does not answer.",
		"Try again in a moment. If it stays, start the agent; operators ask `/readyz` and `beeos doctor`.",
	},
	{
		beeos.ServiceTimeout, "no answer in time", "The agent did not answer within its timeout: 60 seconds, unless the agent or `BEEOS_CALL_TIMEOUT` say otherwise. It may still be working.",
		"Raise the agent's timeout, or ask with a task, which waits as long as you like. Its call page shows how far it came.",
	},
}
