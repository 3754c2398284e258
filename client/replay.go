package client

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/beeos/beeos"
)

// ReplayRequest says what is different when a call is made again; nothing is, if
// it is empty.
type ReplayRequest struct {
	AgentID        string          `json:"agent_id,omitempty"`  // ask this agent instead
	Text           *string         `json:"text,omitempty"`      // say this instead
	Arguments      json.RawMessage `json:"arguments,omitempty"` // of the tool instead
	Model          string          `json:"model,omitempty"`     // answer with this one instead
	Prompt         *string         `json:"prompt,omitempty"`    // instead of a built-in agent's own
	AtStep         int             `json:"at_step,omitempty"`   // from which on a built-in agent asks its model again; 0 = from the beginning
	Confirm        bool            `json:"confirm,omitempty"`   // although it may change things
	IdempotencyKey string          `json:"idempotency_key,omitempty"`
}

// Replay is a call that was made again: a task of the user's.
type Replay struct {
	ID        string           `json:"id"`
	ReplayOf  string           `json:"replay_of"`
	AgentID   string           `json:"agent_id"`
	ContextID string           `json:"context_id"`
	Status    beeos.TaskStatus `json:"status"`
}

// ReplayedAs is a call that repeats another.
type ReplayedAs struct {
	ID string    `json:"id"`
	At time.Time `json:"at"`
}

// ReplayCall makes a call to an agent of the user's again, and returns as soon as
// that is stored.
func (c *Client) ReplayCall(ctx context.Context, id string, r ReplayRequest) (*Replay, error) {
	return call[Replay](ctx, c, http.MethodPost, apiPath("calls", id, "replay"), r)
}

// AwaitReplay waits until a replay has ended and returns it as a call. asked is
// told what the agent wants to know meanwhile, which only a task's continuation
// can tell it.
func (c *Client) AwaitReplay(ctx context.Context, r *Replay, asked func(question string)) (*CallDetail, error) {
	for u, err := range c.WatchTask(ctx, r.AgentID, r.ID) {
		if err != nil {
			return nil, err
		}
		if kind := u.Message.Type; kind == beeos.AgentInputRequired || kind == beeos.AgentAuthRequired {
			asked(u.Message.Body)
		}
	}
	return c.Call(ctx, r.ID)
}
