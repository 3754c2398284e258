package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/beeos/beeos"
)

// Conversation is a channel with an agent that stays open.
type Conversation struct {
	ID             string            `json:"conversation_id"`
	AgentID        string            `json:"agent_id"`
	Title          string            `json:"title,omitempty"`
	State          string            `json:"state"` // active or closed
	Metadata       map[string]string `json:"metadata,omitempty"`
	CreatedAt      time.Time         `json:"created_at"`
	LastActivityAt time.Time         `json:"last_activity_at"`
	ClosedAt       time.Time         `json:"closed_at,omitzero"`
}

// CreateConversation starts a conversation.
func (c *Client) CreateConversation(ctx context.Context, agentID, title string) (*Conversation, error) {
	return call[Conversation](ctx, c, http.MethodPost, apiPath("agents", agentID, "conversations"), map[string]string{"title": title})
}

// Conversations yields the conversations with an agent, newest first.
func (c *Client) Conversations(ctx context.Context, agentID string) iter.Seq2[Conversation, error] {
	return listPages[Conversation](ctx, c, apiPath("agents", agentID, "conversations"), url.Values{"limit": {strconv.Itoa(pageSize)}})
}

// Say sends a message in a conversation, with files of yours, and returns its
// id; the reply comes in the events.
func (c *Client) Say(ctx context.Context, agentID, conversationID, message string, attachments ...Attachment) (string, error) {
	in := struct {
		Message     string       `json:"message"`
		Key         string       `json:"idempotency_key"` // so that a repeat by us is no second message
		Attachments []Attachment `json:"attachments,omitempty"`
	}{message, beeos.NewID(), attachments}
	var sent struct {
		ID string `json:"message_id"`
	}
	_, err := c.do(ctx, http.MethodPost, apiPath("agents", agentID, "conversations", conversationID, "messages"), in, &sent)
	return sent.ID, err
}

// WatchConversation yields what is said in a conversation after the offset
// since, then what comes, until it is closed or ctx ends.
func (c *Client) WatchConversation(ctx context.Context, agentID, conversationID string, since int64) iter.Seq2[Update, error] {
	return c.followEvents(ctx, apiPath("agents", agentID, "conversations", conversationID, "events"), since)
}

// DeleteConversation forgets a conversation and what was said in it.
func (c *Client) DeleteConversation(ctx context.Context, agentID, conversationID string) error {
	_, err := c.do(ctx, http.MethodDelete, apiPath("agents", agentID, "conversations", conversationID), nil, nil)
	return err
}

// Messages yields what was said in a conversation so far, the oldest first.
func (c *Client) Messages(ctx context.Context, agentID, conversationID string) iter.Seq2[beeos.Message, error] {
	return func(yield func(beeos.Message, error) bool) {
		for since := "0"; since != ""; {
			var page struct {
				Messages []beeos.Message `json:"messages"`
				Next     string          `json:"next_since"`
			}
			path := apiPath("agents", agentID, "conversations", conversationID, "messages") + "?limit=" + strconv.Itoa(pageSize) + "&since=" + since
			if _, err := c.do(ctx, http.MethodGet, path, nil, &page); err != nil {
				yield(beeos.Message{}, err)
				return
			}
			for _, m := range page.Messages {
				if !yield(m, nil) {
					return
				}
			}
			since = page.Next
		}
	}
}
