// Package calls serves the REST routes that talk to agents: invoke, tasks with
// their webhooks, conversations, and the Message Service with its channels,
// messages and events. It translates between HTTP and package invoke, which
// decides what happens to a call; Register is its site map.
package calls

import (
	"net/http"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/access/act"
	"github.com/beeos/beeos/internal/engine/invoke"
	"github.com/beeos/beeos/internal/engine/ledger"
	"github.com/beeos/beeos/internal/engine/webhook"
	"github.com/beeos/beeos/internal/store/agents"
	"github.com/beeos/beeos/internal/store/webhooks"
	"github.com/beeos/beeos/internal/surface/rest/route"
)

// Options are the parts that the routes stand on.
type Options struct {
	Agents   *agents.Table
	Webhooks *webhooks.Table
	Ledger   *ledger.Ledger
	Calls    *invoke.Calls
	Hooks    *webhook.Hooks
	Acts     *act.Acts
	Router   *route.Router
	Now      func() time.Time
}

// Handlers answers the routes.
type Handlers struct {
	opt    Options
	router *route.Router
}

// New returns the Handlers.
func New(opt Options) *Handlers { return &Handlers{opt: opt, router: opt.Router} }

// Register is the site map of calls.
func (h *Handlers) Register(mux *http.ServeMux) {
	// Whoever may call an agent may see to what became of the call.
	h.router.Handle(mux, route.AnyKey, route.Table{
		"POST /api/v1/agents/{agentId}/invoke":                  h.invoke,
		"GET /api/v1/agents/{agentId}/tasks":                    route.With(h.pathAgent, h.listAgentTasks),
		"GET /api/v1/agents/{agentId}/tasks/{taskId}":           h.getTask,
		"GET /api/v1/agents/{agentId}/tasks/{taskId}/messages":  route.With(h.visibleTask, h.listTaskMessages),
		"GET /api/v1/agents/{agentId}/tasks/{taskId}/events":    route.With(h.visibleTask, h.streamTaskEvents),
		"POST /api/v1/agents/{agentId}/tasks/{taskId}/cancel":   route.With(h.visibleTask, h.cancelTask),
		"POST /api/v1/agents/{agentId}/tasks/{taskId}/continue": route.With(h.pathTask, h.continueTask),
	})
	h.router.Handle(mux, route.UsersOnly, route.Table{
		"POST /api/v1/agents/{agentId}/tasks":                                                                 h.createTask,
		"GET /api/v1/tasks":                                                                                   h.listUserTasks,
		"POST /api/v1/agents/{agentId}/tasks/{taskId}/webhooks":                                               route.With(h.pathTask, h.registerWebhook),
		"GET /api/v1/agents/{agentId}/tasks/{taskId}/webhooks":                                                route.With(h.pathTask, h.listWebhooks),
		"DELETE /api/v1/agents/{agentId}/tasks/{taskId}/webhooks/{webhookId}":                                 route.With(h.pathWebhook, h.deleteWebhook),
		"GET /api/v1/agents/{agentId}/tasks/{taskId}/webhooks/{webhookId}/deliveries":                         route.With(h.pathWebhook, h.listDeliveries),
		"POST /api/v1/agents/{agentId}/tasks/{taskId}/webhooks/{webhookId}/deliveries/{deliveryId}/redeliver": route.With(h.pathWebhook, h.redeliver),

		"POST /api/v1/agents/{agentId}/conversations":                   route.With(h.pathAgent, h.createConversation),
		"GET /api/v1/agents/{agentId}/conversations":                    route.With(h.pathAgent, h.listConversations),
		"GET /api/v1/agents/{agentId}/conversations/{convId}":           route.With(h.pathConversation, h.getConversation),
		"PATCH /api/v1/agents/{agentId}/conversations/{convId}":         route.With(h.keyedConversation, h.renameConversation),
		"DELETE /api/v1/agents/{agentId}/conversations/{convId}":        route.With(h.pathConversation, h.deleteConversation),
		"POST /api/v1/agents/{agentId}/conversations/{convId}/messages": route.With(h.pathConversation, h.sendConversationMessage),
		"GET /api/v1/agents/{agentId}/conversations/{convId}/messages":  route.With(h.pathConversation, h.listConversationMessages),
		"GET /api/v1/agents/{agentId}/conversations/{convId}/events":    route.With(h.pathConversation, h.streamConversationEvents),
		"POST /api/v1/agents/{agentId}/conversations/{convId}/cancel":   route.With(h.pathConversation, h.cancelConversation),
		"POST /api/v1/agents/{agentId}/conversations/{convId}/clear":    route.With(h.keyedConversation, h.clearConversation),
		"PUT /api/v1/agents/{agentId}/conversations/{convId}/model":     route.With(h.keyedConversation, h.setConversationModel),

		"POST /channels":                    h.createChannel,
		"GET /channels/{channel}":           h.getChannel,
		"DELETE /channels/{channel}":        h.closeChannel,
		"POST /channels/{channel}/messages": route.With(h.pathChannel, h.sendMessage),
		"GET /channels/{channel}/messages":  route.With(h.pathChannel, h.listChannelMessages),
		"GET /channels/{channel}/events":    route.With(h.pathChannel, h.followChannel),
		"POST /channels/{channel}/wait":     route.With(h.pathChannel, h.waitForReply),
	})
}

// pathAgent returns the agent of the path if the caller may call it, as it was
// a moment ago.
func (h *Handlers) pathAgent(r *route.Request) (*beeos.Agent, error) {
	id := r.PathValue("agentId")
	a, err := h.opt.Calls.Agent(r.Context(), id)
	return r.ReachableAgent(id, a, err)
}

// currentAgent returns an agent as it is now.
func (h *Handlers) currentAgent(r *route.Request, id string) (*beeos.Agent, error) {
	a, err := h.opt.Agents.Get(r.Context(), id)
	return r.ReachableAgent(id, a, err)
}
