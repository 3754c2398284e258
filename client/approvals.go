package client

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"time"
)

// Approval is a tool call of an agent's that waits, or waited, for a person.
type Approval struct {
	ID          string          `json:"id"`
	AgentID     string          `json:"agent_id"`
	Caller      string          `json:"caller"`
	CallerName  string          `json:"caller_name"`
	Skill       string          `json:"skill,omitempty"`
	Tool        string          `json:"tool"`
	Arguments   json.RawMessage `json:"arguments"`
	Hash        string          `json:"arguments_sha256"`
	Status      string          `json:"status"` // pending, approved, rejected, expired or withdrawn
	RequestedAt time.Time       `json:"requested_at"`
	ExpiresAt   time.Time       `json:"expires_at"`
	DecidedAt   time.Time       `json:"decided_at,omitzero"`
	DecidedBy   string          `json:"decided_by,omitempty"`
	DeciderName string          `json:"decided_by_name,omitempty"` // if it was a person
	Via         string          `json:"via,omitempty"`
	Reason      string          `json:"reason,omitempty"`
	UsedAt      time.Time       `json:"used_at,omitzero"`
}

// Approvals lists the newest approvals of the user's agents; status is
// pending, decided or all.
func (c *Client) Approvals(ctx context.Context, status string) ([]Approval, error) {
	var list []Approval
	_, err := c.do(ctx, http.MethodGet, "/api/v1/approvals?limit=200&status="+url.QueryEscape(status), nil, &list)
	return list, err
}

// Approve lets the tool call be made, with the arguments that it was asked
// for. What somebody has decided already is a conflict.
func (c *Client) Approve(ctx context.Context, id string) (*Approval, error) {
	return call[Approval](ctx, c, http.MethodPost, apiPath("approvals", id, "approve"), map[string]string{})
}

// Reject denies the tool call; the agent is told the reason.
func (c *Client) Reject(ctx context.Context, id, reason string) (*Approval, error) {
	return call[Approval](ctx, c, http.MethodPost, apiPath("approvals", id, "reject"), map[string]string{"reason": reason})
}

// ApprovalLink returns an address at which whoever has it may decide, once.
func (c *Client) ApprovalLink(ctx context.Context, id string) (string, error) {
	var link struct {
		URL string `json:"url"`
	}
	_, err := c.do(ctx, http.MethodPost, apiPath("approvals", id, "link"), nil, &link)
	return link.URL, err
}
