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
	Needed      int             `json:"votes_needed"`                // how many people have to say yes
	Yes         int             `json:"yes_votes"`                   // how many have, when one is not enough
	GrantID     string          `json:"approval_grant_id,omitempty"` // the earlier yes that answered
}

// Approvals lists the newest approvals of the user's agents, and of those that the
// user reviews; status is pending, decided or all.
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

// What a yes to an approval may be for, beyond its call.
const (
	ForSameArguments = "same_arguments" // the same call by the same caller
	ForConversation  = "conversation"   // the same tool in the same conversation, whatever the arguments
)

// ApproveFor approves as Approve does, and answers what is asked later alike; 0 minutes
// are as long as a conversation may be approved for.
func (c *Client) ApproveFor(ctx context.Context, id, what string, minutes int) (*Approval, error) {
	body := map[string]any{"for": what}
	if minutes > 0 {
		body["minutes"] = minutes
	}
	return call[Approval](ctx, c, http.MethodPost, apiPath("approvals", id, "approve"), body)
}

// ApprovalGrant is a yes for more than one call, of the same tool by the same caller.
type ApprovalGrant struct {
	ID           string    `json:"id"`
	AgentID      string    `json:"agent_id"`
	Caller       string    `json:"caller"`
	CallerName   string    `json:"caller_name"`
	Skill        string    `json:"skill,omitempty"`
	Tool         string    `json:"tool"`
	For          string    `json:"for"`                       // ForSameArguments or ForConversation
	Conversation string    `json:"conversation_id,omitempty"` // the one that it is for
	ApprovalID   string    `json:"approval_id"`
	GivenBy      string    `json:"given_by"`
	GiverName    string    `json:"given_by_name"`
	CreatedAt    time.Time `json:"created_at"`
	ExpiresAt    time.Time `json:"expires_at"`
}

// ApprovalGrants lists the yeses for more than one call that count now.
func (c *Client) ApprovalGrants(ctx context.Context) ([]ApprovalGrant, error) {
	var list []ApprovalGrant
	_, err := c.do(ctx, http.MethodGet, "/api/v1/approval-grants", nil, &list)
	return list, err
}

// RevokeApprovalGrant ends one.
func (c *Client) RevokeApprovalGrant(ctx context.Context, id string) error {
	_, err := c.do(ctx, http.MethodDelete, apiPath("approval-grants", id), nil, nil)
	return err
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
