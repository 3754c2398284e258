package rest

import (
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/invoke"
	"github.com/beeos/beeos/internal/wire/httpd"
)

// sendConversationMessage says something in a conversation and answers as soon
// as it is durable. Any number of messages may be under way.
func (s *Surface) sendConversationMessage(w http.ResponseWriter, r *http.Request, c beeos.Caller) error {
	a, ch, err := s.conversation(r, c)
	if err != nil {
		return err
	}
	var message *string
	var key string
	err = read(w, r, messageLimit, false, shape{"message": &message, "idempotency_key": &key})
	switch {
	case err != nil:
		return err
	case message == nil:
		return beeos.Errorf(beeos.MissingParam, "message is required")
	case strings.TrimSpace(*message) == "":
		return beeos.Errorf(beeos.InvalidParam, "message is empty")
	case ch.Closed:
		return beeos.Errorf(beeos.Conflict, "the conversation is closed (%s); start a new one", ch.ClosedReason)
	}
	if key, err = idempotencyKey(r, key); err != nil {
		return err
	}
	sent, err := s.Calls.Submit(r.Context(), invoke.Request{
		Caller: c, Agent: a, Surface: "rest", Channel: ch.ID, Kind: beeos.KindConversation, Body: *message,
		IdempotencyKey: key, Deadline: s.now().Add(taskLife),
	})
	if err != nil {
		return err
	}
	markReplay(w, sent.Replayed)
	httpd.WriteData(w, http.StatusAccepted, struct {
		ID        string    `json:"message_id"`
		CreatedAt time.Time `json:"created_at"`
	}{sent.Message.ID, sent.Message.CreatedAt})
	return nil
}

func (s *Surface) listConversationMessages(w http.ResponseWriter, r *http.Request, c beeos.Caller) error {
	_, ch, err := s.conversation(r, c)
	if err != nil {
		return err
	}
	return s.pageMessages(w, r, 200, func(since int64, limit int) ([]beeos.Message, error) {
		return s.Ledger.Messages(r.Context(), ch.ID, since, limit)
	})
}

// streamConversationEvents stays open over as many messages as there come.
func (s *Surface) streamConversationEvents(w http.ResponseWriter, r *http.Request, c beeos.Caller) error {
	st, err := s.conversationEvents(r, c)
	if err == nil {
		s.follow(w, r, st)
	}
	return err
}

func (s *Surface) conversationEvents(r *http.Request, c beeos.Caller) (*stream, error) {
	_, ch, err := s.conversation(r, c)
	if err != nil {
		return nil, err
	}
	return s.channelEvents(r, ch)
}

// cancelConversation asks the agent to stop working on one message.
func (s *Surface) cancelConversation(w http.ResponseWriter, r *http.Request, c beeos.Caller) error {
	_, ch, err := s.conversation(r, c)
	if err != nil {
		return err
	}
	operation, err := operationID(r)
	if err != nil {
		return err
	}
	var target, reason string
	err = read(w, r, settingLimit, true, shape{"target_message_id": &target, "reason": &reason})
	switch {
	case err != nil:
		return err
	case target == "":
		return beeos.Errorf(beeos.MissingParam, "target_message_id is required: the message whose reply is not wanted any more")
	case utf8.RuneCountInString(reason) > maxReason:
		return beeos.Errorf(beeos.InvalidParam, "reason may have at most %d characters", maxReason)
	}
	t, err := s.Calls.Task(r.Context(), c.Principal(), target)
	if err != nil && beeos.CodeOf(err) != beeos.NotFound {
		return err
	}
	if err != nil || t.Channel != ch.ID {
		return beeos.Errorf(beeos.NotFound, "the conversation has no message %q of yours", target)
	}
	if t.Done == nil {
		if err := s.Calls.Cancel(r.Context(), ch.ID, target, reason); err != nil {
			return err
		}
	}
	accepted(w, operation)
	return nil
}

// operationID is the client's own name for the operation, or a new one.
func operationID(r *http.Request) (string, error) {
	id := r.Header.Get("X-BeeOS-Operation-Id")
	switch {
	case id == "":
		return beeos.NewID(), nil
	case !channelID.MatchString("ch-" + strings.ToLower(id)):
		return "", beeos.Errorf(beeos.InvalidParam, "X-BeeOS-Operation-Id must be a UUID")
	}
	return id, nil
}

// clearConversation lets a built-in agent start afresh: what was said stays in
// the conversation, and is not told to the model again. What other agents
// remember is not ours to clear.
func (s *Surface) clearConversation(w http.ResponseWriter, r *http.Request, c beeos.Caller) error {
	a, ch, err := s.conversation(r, c)
	if err != nil {
		return err
	}
	key, err := requiredKey(r)
	if err != nil {
		return err
	}
	operation, err := operationID(r)
	if err != nil {
		return err
	}
	if err := s.Acts.CheckClear(r.Context(), a, ch); err != nil {
		return err
	}
	_, err = s.perform(w, r, c, keyedAct{key: key, name: "clear " + ch.ID}, func() (err error) {
		ch.Generation, err = s.Acts.ClearConversation(r.Context(), c, ch)
		return err
	})
	if err != nil {
		return err
	}
	httpd.WriteJSON(w, http.StatusAccepted, struct {
		Success    bool   `json:"success"`
		Status     string `json:"status"`
		Operation  string `json:"operationId"`
		Channel    string `json:"conversationId"`
		Generation string `json:"currentGeneration"`
	}{true, "accepted", operation, ch.ID, strconv.FormatInt(ch.Generation, 10)})
	return nil
}

// setConversationModel chooses a model, for agents that say that they take one
// from their callers.
func (s *Surface) setConversationModel(w http.ResponseWriter, r *http.Request, c beeos.Caller) error {
	a, ch, err := s.conversation(r, c)
	if err != nil {
		return err
	}
	key, err := requiredKey(r)
	if err != nil {
		return err
	}
	operation, err := operationID(r)
	if err != nil {
		return err
	}
	var model *string
	if err := read(w, r, settingLimit, true, shape{"modelOverrideId": &model}); err != nil {
		return err
	}
	name := ""
	if model != nil {
		name = *model
	}
	if model != nil && name == "" {
		return beeos.Errorf(beeos.InvalidParam, "modelOverrideId must not be empty; null is the agent's own model")
	}
	if err := s.Acts.CheckModel(r.Context(), a, name); err != nil {
		return err
	}
	if _, err := s.perform(w, r, c, keyedAct{key, "model " + ch.ID, []any{name}}, func() error {
		return s.Acts.SetConversationModel(r.Context(), c, ch, name)
	}); err != nil {
		return err
	}
	accepted(w, operation)
	return nil
}
