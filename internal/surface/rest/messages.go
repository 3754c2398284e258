package rest

import (
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/invoke"
	"github.com/beeos/beeos/internal/wire/httpd"
)

// Offsets on the wire leave room for the live deltas between two durable
// messages: off<<20 | k. `since` is such a number too, so a reader that saw a
// delta resumes after the durable message before it.
const offsetShift = 20

// maxOffset is the largest number that JSON clients keep exactly.
const maxOffset = 1<<53 - 1

func viewMessage(m beeos.Message) beeos.Message {
	m.Offset <<= offsetShift
	return m
}

// messageBody is what a caller may publish. A tool is not called this way:
// only the MCP surface checks arguments, and agents rely on that.
type messageBody struct {
	Type      beeos.MessageType
	Body      string
	Parts     []json.RawMessage
	Metadata  map[string]string
	InReplyTo string
	Reason    string
	Key       string
}

// sendMessage publishes on a channel: a chat_message for the agent, its
// cancel, or the answer to an agent that paused. It answers as soon as the
// message is durable.
func (s *Surface) sendMessage(w http.ResponseWriter, r *http.Request, c beeos.Caller) error {
	ch, err := s.channel(r, c)
	if err != nil {
		return err
	}
	b, err := readMessage(w, r)
	if err != nil {
		return err
	}
	if ch.Closed {
		return beeos.Errorf(beeos.Conflict, "the channel is closed (%s); open another one", ch.ClosedReason)
	}
	switch b.Type {
	case beeos.ChatCancel:
		return s.cancelTurn(w, r, ch, b)
	case beeos.Continue, beeos.AuthGrant:
		return s.continueTurn(w, r, c, ch, b)
	}
	a, err := s.agentFor(r.Context(), ch.AgentID, c)
	if err != nil {
		return err
	}
	var parts json.RawMessage
	if len(b.Parts) > 0 {
		if parts, err = json.Marshal(b.Parts); err != nil {
			return err
		}
	}
	m, err := s.Calls.Send(r.Context(), invoke.Request{
		Caller: c, Agent: a, Surface: "rest", Channel: ch.ID, Body: b.Body, Parts: parts,
		Call: beeos.Call{Metadata: b.Metadata}, IdempotencyKey: b.Key,
	})
	if err != nil {
		return err
	}
	httpd.WriteData(w, http.StatusAccepted, viewMessage(m))
	return nil
}

func readMessage(w http.ResponseWriter, r *http.Request) (b messageBody, err error) {
	b.Type = beeos.ChatMessage
	err = read(w, r, messageLimit, true, shape{
		"type": &b.Type, "body": &b.Body, "parts": &b.Parts, "metadata": &b.Metadata, "in_reply_to": &b.InReplyTo,
		"reason": &b.Reason, "idempotency_key": &b.Key,
	})
	if err == nil {
		err = invoke.CheckMetadata(b.Metadata)
	}
	if err == nil {
		b.Key, err = idempotencyKey(r, b.Key)
	}
	if err != nil {
		return b, err
	}
	switch b.Type {
	case beeos.ChatMessage:
		if b.Body == "" && len(b.Parts) == 0 {
			return b, beeos.Errorf(beeos.InvalidParam, "the message is empty: give it a body or parts")
		}
	case beeos.ChatCancel, beeos.Continue, beeos.AuthGrant:
		if b.InReplyTo == "" {
			return b, beeos.Errorf(beeos.MissingParam, "in_reply_to is required: the message_id that this is about")
		}
	default:
		return b, beeos.Errorf(beeos.InvalidParam, "type must be chat_message, chat_cancel, user.continue or user.auth_grant")
	}
	return b, nil
}

// continueTurn answers an agent that paused for input or for a grant.
func (s *Surface) continueTurn(w http.ResponseWriter, r *http.Request, c beeos.Caller, ch beeos.Channel, b messageBody) error {
	m := beeos.Message{Type: b.Type, Channel: ch.ID, InReplyTo: b.InReplyTo, Publisher: c.Principal(), Body: b.Body}
	var err error
	if len(b.Parts) > 0 {
		if m.Parts, err = json.Marshal(b.Parts); err != nil {
			return err
		}
	}
	if m, err = s.Calls.Continue(r.Context(), m); err != nil {
		return err
	}
	httpd.WriteData(w, http.StatusAccepted, viewMessage(m))
	return nil
}

func (s *Surface) cancelTurn(w http.ResponseWriter, r *http.Request, ch beeos.Channel, b messageBody) error {
	if err := s.Calls.Cancel(r.Context(), ch.ID, b.InReplyTo, b.Reason); err != nil {
		return err
	}
	httpd.WriteData(w, http.StatusAccepted, map[string]string{"in_reply_to": b.InReplyTo})
	return nil
}

// messageList is the contract's ListMessagesResponse.
type messageList struct {
	Messages     []beeos.Message `json:"messages"`
	LatestOffset int64           `json:"latest_offset"`
	NextSince    string          `json:"next_since,omitempty"`
	HasMore      bool            `json:"has_more"`
}

// listMessages pages through a channel. Deltas are never stored, so
// include_deltas changes nothing: the terminal message has the whole text.
func (s *Surface) listMessages(w http.ResponseWriter, r *http.Request, c beeos.Caller) error {
	ch, err := s.channel(r, c)
	if err != nil {
		return err
	}
	return s.pageMessages(w, r, 500, func(since int64, limit int) ([]beeos.Message, error) {
		return s.Ledger.Messages(r.Context(), ch.ID, since, limit)
	})
}

// pageMessages answers with one page of what load returns after an offset.
func (s *Surface) pageMessages(w http.ResponseWriter, r *http.Request, most int64, load func(since int64, limit int) ([]beeos.Message, error)) error {
	since, err := query(r, "since", 0, 0, maxOffset)
	if err != nil {
		return err
	}
	limit, err := query(r, "limit", 100, 1, most)
	if err != nil {
		return err
	}
	if d := r.URL.Query().Get("include_deltas"); d != "" && d != "true" && d != "false" {
		return beeos.Errorf(beeos.InvalidParam, "include_deltas must be true or false")
	}
	ms, err := load(since>>offsetShift, int(limit)+1) // one more tells whether there are more
	if err != nil {
		return err
	}
	list := messageList{Messages: []beeos.Message{}, LatestOffset: since, HasMore: len(ms) > int(limit)}
	for _, m := range ms[:min(len(ms), int(limit))] {
		list.Messages = append(list.Messages, viewMessage(m))
		list.LatestOffset = m.Offset << offsetShift
	}
	if list.HasMore {
		list.NextSince = strconv.FormatInt(list.LatestOffset, 10)
	}
	httpd.WriteData(w, http.StatusOK, list)
	return nil
}

// waitReply blocks until the message named by in_reply_to has its terminal
// reply, which comes at once when it is there already.
func (s *Surface) waitReply(w http.ResponseWriter, r *http.Request, c beeos.Caller) error {
	ch, err := s.channel(r, c)
	if err != nil {
		return err
	}
	var turn string
	timeout := int64(maxTimeoutMS)
	if err := read(w, r, settingLimit, true, shape{"in_reply_to": &turn, "timeout_ms": &timeout}); err != nil {
		return err
	}
	switch {
	case turn == "":
		return beeos.Errorf(beeos.MissingParam, "in_reply_to is required: the message_id to wait for")
	case timeout < 0 || timeout > maxTimeoutMS:
		return beeos.Errorf(beeos.InvalidParam, "timeout_ms must be from 0 to %d", maxTimeoutMS)
	}
	// Before the wait, or who guesses others' ids learns how long they take.
	if _, err := s.Ledger.Find(r.Context(), ch.ID, turn); err != nil {
		if beeos.CodeOf(err) == beeos.NotFound {
			err = beeos.Errorf(beeos.NotFound, "the channel has no message %q", turn)
		}
		return err
	}
	m, err := s.Calls.Wait(r.Context(), turn, time.Duration(timeout)*time.Millisecond)
	if err != nil {
		return err
	}
	httpd.WriteData(w, http.StatusOK, viewMessage(*m))
	return nil
}
