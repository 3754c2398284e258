package calls

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/invoke"
	"github.com/beeos/beeos/internal/surface/rest/route"
	"github.com/beeos/beeos/internal/wire/strictjson"
)

// Offsets on the wire leave room for the live deltas between two durable
// messages: off<<20 | k. `since` is such a number too, so a reader that saw a
// delta resumes after the durable message before it.
const offsetShift = 20

// maxOffset is the largest number that JSON clients keep exactly.
const maxOffset = 1<<53 - 1

// viewMessage is a message as the contract has it.
func viewMessage(m beeos.Message) beeos.Message {
	m.Offset <<= offsetShift
	m.Parts = viewParts(m.Parts)
	return m
}

// publication is what a caller publishes on a channel. A tool is not called
// this way: only the MCP surface checks arguments, and agents rely on that.
type publication struct {
	invoke.Request
	Type      beeos.MessageType
	InReplyTo string
	Reason    string
}

// sendMessage publishes on a channel: a chat_message for the agent, its
// cancel, or the answer to an agent that paused. It answers as soon as the
// message is durable.
func (h *Handlers) sendMessage(r *route.Request, ch *beeos.Channel) (any, error) {
	p, err := readPublication(r)
	if err != nil {
		return nil, err
	}
	if ch.Closed {
		return nil, beeos.Errorf(beeos.Conflict, "the channel is closed (%s); open another one", ch.ClosedReason)
	}
	var m beeos.Message
	switch p.Type {
	case beeos.ChatCancel:
		return route.Accepted(map[string]string{"in_reply_to": p.InReplyTo}), h.opt.Calls.Cancel(r.Context(), ch.ID, p.InReplyTo, p.Reason)
	case beeos.Continue, beeos.AuthGrant: // for an agent that paused for input or for a grant
		m, err = h.opt.Calls.Continue(r.Context(), beeos.Message{
			Type: p.Type, Channel: ch.ID, InReplyTo: p.InReplyTo, Publisher: r.Caller.Principal(), Body: p.Body, Parts: p.Parts,
		})
	default:
		if p.Agent, err = h.currentAgent(r, ch.AgentID); err != nil {
			return nil, err
		}
		p.Channel = ch.ID
		m, err = h.opt.Calls.Send(r.Context(), p.Request)
	}
	return route.Accepted(viewMessage(m)), err
}

func readPublication(r *route.Request) (p publication, err error) {
	p.Type = beeos.ChatMessage
	var parts []json.RawMessage
	err = readRequest(r, route.Strict, &p.Request, route.Shape{
		"type": &p.Type, "body": &p.Body, "parts": &parts, "metadata": &p.Call.Metadata, "in_reply_to": &p.InReplyTo, "reason": &p.Reason,
	})
	if err != nil {
		return p, err
	}
	switch p.Type {
	case beeos.ChatMessage:
		if p.Body == "" && len(parts) == 0 {
			return p, beeos.Errorf(beeos.InvalidParam, "the message is empty: give it a body or parts")
		}
	case beeos.ChatCancel, beeos.Continue, beeos.AuthGrant:
		if p.InReplyTo == "" {
			return p, beeos.Errorf(beeos.MissingParam, "in_reply_to is required: the message_id that this is about")
		}
	default:
		return p, beeos.Errorf(beeos.InvalidParam, "type must be chat_message, chat_cancel, user.continue or user.auth_grant")
	}
	for _, part := range parts {
		if _, ok := strictjson.StringField(part, "type"); !ok {
			return p, beeos.Errorf(beeos.InvalidParam, "each of parts must be an object with a type, which is a string")
		}
	}
	if len(parts) > 0 {
		p.Parts, err = json.Marshal(parts)
	}
	return p, err
}

// messageList is the contract's ListMessagesResponse.
type messageList struct {
	Messages     []listedMessage `json:"messages"`
	LatestOffset int64           `json:"latest_offset"`
	NextSince    string          `json:"next_since,omitempty"`
	HasMore      bool            `json:"has_more"`
	historyView
}

// listedMessage is a message and the history that it belongs to: the agent's,
// or one that was cleared.
type listedMessage struct {
	beeos.Message
	Generation string `json:"historyGeneration"`
}

func listMessage(m *beeos.Message, ch *beeos.Channel) listedMessage {
	generation := ch.Generation
	if m.Offset <= ch.Cleared && generation > 0 {
		generation-- // or an earlier one, which is forgotten as well
	}
	return listedMessage{viewMessage(*m), strconv.FormatInt(generation, 10)}
}

// listChannelMessages pages through a channel.
func (h *Handlers) listChannelMessages(r *route.Request, ch *beeos.Channel) (any, error) {
	return pageMessages(r, 500, ch, h.messagesOf(r, ch.ID))
}

// messagesOf returns what loads the messages of a channel.
func (h *Handlers) messagesOf(r *route.Request, channel string) func(since int64, limit int) ([]beeos.Message, error) {
	return func(since int64, limit int) ([]beeos.Message, error) {
		return h.opt.Ledger.Messages(r.Context(), channel, since, limit)
	}
}

// pageMessages answers with one page of what load returns of a channel after an
// offset.
// Deltas are never stored, so include_deltas changes nothing: the terminal
// message has the whole text.
func pageMessages(r *route.Request, most int64, ch *beeos.Channel, load func(since int64, limit int) ([]beeos.Message, error)) (any, error) {
	since, err := r.QueryInt("since", 0, 0, maxOffset)
	if err != nil {
		return nil, err
	}
	limit, err := r.QueryLimit("limit", 100, most)
	if err != nil {
		return nil, err
	}
	if _, err := r.QueryBool("include_deltas"); err != nil {
		return nil, err
	}
	p := route.Page{Limit: int(limit)}
	ms, err := load(since>>offsetShift, p.AtMost())
	if err != nil {
		return nil, err
	}
	list := messageList{LatestOffset: since, historyView: viewHistory(ch)}
	list.Messages, list.NextSince = route.CutPage(p, ms,
		func(m *beeos.Message) listedMessage { return listMessage(m, ch) },
		func(m *beeos.Message) string { return strconv.FormatInt(m.Offset<<offsetShift, 10) })
	list.HasMore = list.NextSince != ""
	if n := len(list.Messages); n > 0 {
		list.LatestOffset = list.Messages[n-1].Offset
	}
	return list, nil
}

// waitForReply blocks until the message named by in_reply_to has its terminal
// reply, which comes at once when it is there already.
func (h *Handlers) waitForReply(r *route.Request, ch *beeos.Channel) (any, error) {
	var turn string
	timeout := int64(maxTimeoutMS)
	err := r.ReadSettings(route.Strict, route.Shape{"in_reply_to": &turn, "timeout_ms": &timeout})
	switch {
	case err != nil:
		return nil, err
	case turn == "":
		return nil, beeos.Errorf(beeos.MissingParam, "in_reply_to is required: the message_id to wait for")
	case timeout < 0 || timeout > maxTimeoutMS:
		return nil, beeos.Errorf(beeos.InvalidParam, "timeout_ms must be from 0 to %d", maxTimeoutMS)
	}
	// Before the wait, or who guesses others' ids learns how long they take.
	if _, err := h.opt.Ledger.FindMessage(r.Context(), ch.ID, turn); err != nil {
		if beeos.CodeOf(err) == beeos.NotFound {
			err = beeos.Errorf(beeos.NotFound, "the channel has no message %q", turn)
		}
		return nil, err
	}
	m, err := h.opt.Calls.Wait(r.Context(), turn, time.Duration(timeout)*time.Millisecond)
	if err != nil {
		return nil, err
	}
	return viewMessage(*m), nil
}
