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
func (h *Handlers) sendConversationMessage(r *route.Request, conv *conversation) (any, error) {
	req := invoke.Request{Agent: conv.agent, Channel: conv.ID, Kind: beeos.KindConversation, Deadline: h.opt.Now().Add(taskLife)}
	if err := readMessage(r, &req, route.Shape{"attachments": &req.Attachments}); err != nil {
		return nil, err
	}
	if conv.Closed {
		return nil, beeos.Errorf(beeos.Conflict, "the conversation is closed (%s); start a new one", conv.ClosedReason)
	}
	sent, err := h.opt.Calls.Submit(r.Context(), req)
	r.MarkReplay(err == nil && sent.Replayed)
	return route.Accepted(struct {
		ID        string    `json:"message_id"`
		CreatedAt time.Time `json:"created_at"`
	}{sent.Message.ID, sent.Message.CreatedAt}), err
}

func (h *Handlers) listConversationMessages(r *route.Request, conv *conversation) (any, error) {
	return pageMessages(r, 200, &conv.Channel, h.messagesOf(r, conv.ID))
}

// streamConversationEvents stays open over as many messages as there come.
func (h *Handlers) streamConversationEvents(r *route.Request, conv *conversation) (any, error) {
	return h.followChannel(r, &conv.Channel)
}

// cancelConversation asks the agent to stop working on one message.
func (h *Handlers) cancelConversation(r *route.Request, conv *conversation) (any, error) {
	operation, err := readOperationID(r)
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
	if beeos.CodeOf(err) == beeos.NotFound || err == nil && t.Channel != conv.ID {
		return nil, beeos.Errorf(beeos.NotFound, "the conversation has no message %q of yours", target)
	}
	if err == nil && t.Done == nil {
		err = h.opt.Calls.Cancel(r.Context(), conv.ID, target, reason)
	}
	return acceptOperation(operation), err
}

// operationPattern is what the contract takes for the id of an operation.
var operationPattern = regexp.MustCompile(`(?i)^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

// readOperationID returns the client's own name for the operation, or a new one.
func readOperationID(r *route.Request) (string, error) {
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

func (h *Handlers) renameConversation(r *route.Request, conv *conversation) (any, error) {
	var title string
	if err := r.ReadSettings(route.Strict, route.Shape{"title": &title}); err != nil {
		return nil, err
	}
	if err := act.CheckTitle(title); err != nil {
		return nil, err
	}
	replayed, err := h.router.Once(r, "rename "+conv.ID, []any{title}, func() error {
		return h.opt.Acts.RenameConversation(r.Context(), r.Caller, conv.Channel, title)
	})
	if err == nil && !replayed {
		conv.Title = title
		conv.Version++
	}
	return viewConversation(&conv.Channel, conv.agent), err
}

// clearConversation lets a built-in agent start afresh: what was said stays in
// the conversation, and is not told to the model again. What other agents
// remember is not ours to clear.
func (h *Handlers) clearConversation(r *route.Request, conv *conversation) (any, error) {
	operation, err := readOperationID(r)
	if err != nil {
		return nil, err
	}
	if err := h.opt.Acts.CheckClear(r.Context(), conv.agent, conv.Channel); err != nil {
		return nil, err
	}
	_, err = h.router.Once(r, "clear "+conv.ID, nil, func() (err error) {
		conv.Generation, err = h.opt.Acts.ClearConversation(r.Context(), r.Caller, conv.Channel)
		return err
	})
	return route.Whole(http.StatusAccepted, struct {
		Success    bool   `json:"success"`
		Status     string `json:"status"`
		Operation  string `json:"operationId"`
		Channel    string `json:"conversationId"`
		Generation string `json:"currentGeneration"`
	}{true, "accepted", operation, conv.ID, strconv.FormatInt(conv.Generation, 10)}), err
}

// setConversationModel chooses a model, for agents that say that they take one
// from their callers.
func (h *Handlers) setConversationModel(r *route.Request, conv *conversation) (any, error) {
	operation, err := readOperationID(r)
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
	if err := h.opt.Acts.CheckModel(r.Context(), conv.agent, model); err != nil {
		return nil, err
	}
	_, err = h.router.Once(r, "model "+conv.ID, []any{model}, func() error {
		return h.opt.Acts.SetConversationModel(r.Context(), r.Caller, conv.Channel, model)
	})
	return acceptOperation(operation), err
}

// deleteConversation forgets a conversation and everything said in it.
func (h *Handlers) deleteConversation(r *route.Request, conv *conversation) (any, error) {
	return route.NoContent, h.opt.Acts.DeleteConversation(r.Context(), r.Caller, conv.Channel)
}
