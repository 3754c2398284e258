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

func conversationPath(agentID, id string) string {
	path := "/api/v1/agents/" + url.PathEscape(agentID) + "/conversations"
	if id != "" {
		path += "/" + url.PathEscape(id)
	}
	return path
}

// CreateConversation starts a conversation.
func (c *Client) CreateConversation(ctx context.Context, agentID, title string) (*Conversation, error) {
	in := struct {
		Title string `json:"title,omitempty"`
	}{title}
	var v Conversation
	if _, err := c.do(ctx, http.MethodPost, conversationPath(agentID, ""), in, &v); err != nil {
		return nil, err
	}
	return &v, nil
}

// Conversations yields the conversations with an agent, newest first.
func (c *Client) Conversations(ctx context.Context, agentID string) iter.Seq2[Conversation, error] {
	return func(yield func(Conversation, error) bool) {
		q := url.Values{"limit": {strconv.Itoa(pageSize)}}
		for {
			var page struct {
				Conversations []Conversation `json:"conversations"`
				Next          string         `json:"next_since"`
			}
			if _, err := c.do(ctx, http.MethodGet, conversationPath(agentID, "")+"?"+q.Encode(), nil, &page); err != nil {
				yield(Conversation{}, err)
				return
			}
			for _, v := range page.Conversations {
				if !yield(v, nil) {
					return
				}
			}
			if page.Next == "" {
				return
			}
			q.Set("since", page.Next)
		}
	}
}

// Say sends a message in a conversation and returns its id; the reply comes
// in the events.
func (c *Client) Say(ctx context.Context, agentID, conversationID, message string) (string, error) {
	in := struct {
		Message string `json:"message"`
		Key     string `json:"idempotency_key"` // so that a repeat by us is no second message
	}{message, beeos.NewID()}
	var sent struct {
		ID string `json:"message_id"`
	}
	_, err := c.do(ctx, http.MethodPost, conversationPath(agentID, conversationID)+"/messages", in, &sent)
	return sent.ID, err
}

// WatchConversation yields what is said in a conversation after the offset
// since, then what comes, until it is closed or ctx ends.
func (c *Client) WatchConversation(ctx context.Context, agentID, conversationID string, since int64) iter.Seq2[Update, error] {
	return c.follow(ctx, conversationPath(agentID, conversationID)+"/events", since)
}

// DeleteConversation forgets a conversation and what was said in it.
func (c *Client) DeleteConversation(ctx context.Context, agentID, conversationID string) error {
	_, err := c.do(ctx, http.MethodDelete, conversationPath(agentID, conversationID), nil, nil)
	return err
}
