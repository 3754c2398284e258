package calls

import (
	"net/http"
	"regexp"
	"strconv"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/access/act"
	"github.com/beeos/beeos/internal/engine/invoke"
	"github.com/beeos/beeos/internal/surface/rest/route"
)

// sendConversationMessage says something in a conversation and answers as soon
// as it is durable. Any number of messages may be under way.
func (h *Handlers) sendConversationMessage(r *route.Request) (any, error) {
	a, ch, err := h.pathConversation(r)
	if err != nil {
		return nil, err
	}
	req := invoke.Request{Agent: a, Channel: ch.ID, Kind: beeos.KindConversation, Deadline: h.opt.Now().Add(taskLife)}
	if err := readMessage(r, &req, route.Shape{}); err != nil {
		return nil, err
	}
	if ch.Closed {
		return nil, beeos.Errorf(beeos.Conflict, "the conversation is closed (%s); start a new one", ch.ClosedReason)
	}
	sent, err := h.opt.Calls.Submit(r.Context(), req)
	r.MarkReplay(sent.Replayed)
	return route.Accepted(struct {
		ID        string    `json:"message_id"`
		CreatedAt time.Time `json:"created_at"`
	}{sent.Message.ID, sent.Message.CreatedAt}), err
}

func (h *Handlers) listConversationMessages(r *route.Request) (any, error) {
	_, ch, err := h.pathConversation(r)
	if err != nil {
		return nil, err
	}
	return pageMessages(r, 200, h.messagesOf(r, ch))
}

// streamConversationEvents stays open over as many messages as there come.
func (h *Handlers) streamConversationEvents(r *route.Request) (any, error) {
	_, ch, err := h.pathConversation(r)
	if err != nil {
		return nil, err
	}
	return h.followChannel(r, ch)
}

// cancelConversation asks the agent to stop working on one message.
func (h *Handlers) cancelConversation(r *route.Request) (any, error) {
	_, ch, err := h.pathConversation(r)
	if err != nil {
		return nil, err
	}
	operation, err := operationID(r)
	if err != nil {
		return nil, err
	}
	var target, reason string
	err = r.ReadSettings(route.Strict, route.Shape{"target_message_id": &target, "reason": &reason})
	if err == nil && target == "" {
		err = beeos.Errorf(beeos.MissingParam, "target_message_id is required: the message whose reply is not wanted any more")
	}
	if err == nil {
		err = checkReason(reason)
	}
	if err != nil {
		return nil, err
	}
	t, err := h.opt.Calls.Task(r.Context(), r.Caller.Principal(), target)
	if beeos.CodeOf(err) == beeos.NotFound || err == nil && t.Channel != ch.ID {
		return nil, beeos.Errorf(beeos.NotFound, "the conversation has no message %q of yours", target)
	}
	if err == nil && t.Done == nil {
		err = h.opt.Calls.Cancel(r.Context(), ch.ID, target, reason)
	}
	return acceptOperation(operation), err
}

// operationPattern is what the contract takes for the id of an operation.
var operationPattern = regexp.MustCompile(`(?i)^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

// operationID is the client's own name for the operation, or a new one.
func operationID(r *route.Request) (string, error) {
	id := r.Header.Get("X-BeeOS-Operation-Id")
	switch {
	case id == "":
		return beeos.NewID(), nil
	case !operationPattern.MatchString(id):
		return "", beeos.Errorf(beeos.InvalidParam, "X-BeeOS-Operation-Id must be a UUID")
	}
	return id, nil
}

func acceptOperation(id string) any {
	return route.Accepted(map[string]string{"operation_id": id, "status": "accepted"})
}

// conversationAct is an act on the conversation of the path, whose contract
// insists on an idempotency key.
type conversationAct struct {
	agent   *beeos.Agent
	channel beeos.Channel
	key     string
}

func (h *Handlers) readConversationAct(r *route.Request) (on conversationAct, err error) {
	if on.agent, on.channel, err = h.pathConversation(r); err == nil {
		on.key, err = r.RequireKey()
	}
	return on, err
}

// actOnce does it unless it was done before under the same key.
func (h *Handlers) actOnce(r *route.Request, on conversationAct, verb string, details []any, do func() error) (replayed bool, err error) {
	return h.router.Once(r, route.KeyedAct{Key: on.key, Name: verb + " " + on.channel.ID, Details: details}, do)
}

func (h *Handlers) renameConversation(r *route.Request) (any, error) {
	on, err := h.readConversationAct(r)
	if err != nil {
		return nil, err
	}
	var title string
	if err := r.ReadSettings(route.Strict, route.Shape{"title": &title}); err != nil {
		return nil, err
	}
	if err := act.CheckTitle(title); err != nil {
		return nil, err
	}
	replayed, err := h.actOnce(r, on, "rename", []any{title}, func() error {
		return h.opt.Acts.RenameConversation(r.Context(), r.Caller, on.channel, title)
	})
	if !replayed {
		on.channel.Title = title
	}
	return viewConversation(&on.channel, on.agent), err
}

// clearConversation lets a built-in agent start afresh: what was said stays in
// the conversation, and is not told to the model again. What other agents
// remember is not ours to clear.
func (h *Handlers) clearConversation(r *route.Request) (any, error) {
	on, err := h.readConversationAct(r)
	if err != nil {
		return nil, err
	}
	operation, err := operationID(r)
	if err != nil {
		return nil, err
	}
	ch := &on.channel
	if err := h.opt.Acts.CheckClear(r.Context(), on.agent, *ch); err != nil {
		return nil, err
	}
	_, err = h.actOnce(r, on, "clear", nil, func() (err error) {
		ch.Generation, err = h.opt.Acts.ClearConversation(r.Context(), r.Caller, *ch)
		return err
	})
	return route.Whole(http.StatusAccepted, struct {
		Success    bool   `json:"success"`
		Status     string `json:"status"`
		Operation  string `json:"operationId"`
		Channel    string `json:"conversationId"`
		Generation string `json:"currentGeneration"`
	}{true, "accepted", operation, ch.ID, strconv.FormatInt(ch.Generation, 10)}), err
}

// setConversationModel chooses a model, for agents that say that they take one
// from their callers.
func (h *Handlers) setConversationModel(r *route.Request) (any, error) {
	on, err := h.readConversationAct(r)
	if err != nil {
		return nil, err
	}
	operation, err := operationID(r)
	if err != nil {
		return nil, err
	}
	var chosen *string
	if err := r.ReadSettings(route.Strict, route.Shape{"modelOverrideId": &chosen}); err != nil {
		return nil, err
	}
	model := ""
	if chosen != nil {
		if model = *chosen; model == "" {
			return nil, beeos.Errorf(beeos.InvalidParam, "modelOverrideId must not be empty; null is the agent's own model")
		}
	}
	if err := h.opt.Acts.CheckModel(r.Context(), on.agent, model); err != nil {
		return nil, err
	}
	_, err = h.actOnce(r, on, "model", []any{model}, func() error {
		return h.opt.Acts.SetConversationModel(r.Context(), r.Caller, on.channel, model)
	})
	return acceptOperation(operation), err
}

// deleteConversation forgets a conversation and everything said in it.
func (h *Handlers) deleteConversation(r *route.Request) (any, error) {
	_, ch, err := h.pathConversation(r)
	if err != nil {
		return nil, err
	}
	return route.NoContent, h.opt.Acts.DeleteConversation(r.Context(), r.Caller, ch)
}
