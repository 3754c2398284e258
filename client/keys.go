package client

import (
	"context"
	"net/http"
	"net/url"
	"time"
)

// Key is an API key. Secret is only there in the answer of CreateKey: the
// server keeps nothing but its hash.
type Key struct {
	ID            string    `json:"id"`
	Name          string    `json:"name"`
	AgentID       string    `json:"agent_id,omitempty"`
	Prefix        string    `json:"key_prefix"`
	RatePerMinute int       `json:"rate_limit_per_minute,omitempty"` // 0 = the agent's limit
	Secret        string    `json:"key,omitempty"`
	CreatedAt     time.Time `json:"created_at"`
	ExpiresAt     time.Time `json:"expires_at,omitzero"`
	LastUsedAt    time.Time `json:"last_used_at,omitzero"`
	RevokedAt     time.Time `json:"revoked_at,omitzero"`
}

// KeyRequest describes a key to make; the zero value never expires and has
// the rate limit of the agent that it calls.
type KeyRequest struct {
	Name          string    `json:"name"`
	RatePerMinute int       `json:"rate_limit_per_minute,omitempty"`
	ExpiresAt     time.Time `json:"expires_at,omitzero"`
}

// keysPath is where the keys of an agent are, or the user's own when agentID
// is empty.
func keysPath(agentID string) string {
	if agentID == "" {
		return "/api/v1/api-keys"
	}
	return apiPath("agents", agentID, "keys")
}

// Keys lists the bak_ keys of an agent, or with an empty agentID the user's
// own oag_ keys.
func (c *Client) Keys(ctx context.Context, agentID string) ([]Key, error) {
	var keys []Key
	_, err := c.do(ctx, http.MethodGet, keysPath(agentID), nil, &keys)
	return keys, err
}

// CreateKey makes a bak_ key for an agent, or with an empty agentID an oag_
// key for the user.
func (c *Client) CreateKey(ctx context.Context, agentID string, r KeyRequest) (*Key, error) {
	return call[Key](ctx, c, http.MethodPost, keysPath(agentID), r)
}

// LimitKey changes how many calls a minute a key may make to one agent; 0 = the
// agent's limit, or the server's default. agentID as in Keys.
func (c *Client) LimitKey(ctx context.Context, agentID, id string, perMinute int) (*Key, error) {
	in := struct {
		RatePerMinute int `json:"rate_limit_per_minute"`
	}{perMinute}
	return call[Key](ctx, c, http.MethodPatch, keysPath(agentID)+"/"+url.PathEscape(id), in)
}

// RevokeKey ends a key at once; agentID as in Keys.
func (c *Client) RevokeKey(ctx context.Context, agentID, id string) error {
	_, err := c.do(ctx, http.MethodDelete, keysPath(agentID)+"/"+url.PathEscape(id), nil, nil)
	return err
}

// JoinToken lets one machine register as an agent instance, once.
type JoinToken struct {
	Token     string    `json:"token"`
	ExpiresAt time.Time `json:"expires_at"`
}

// CreateJoinToken makes a join token that lives for ttl; zero means the
// server's default.
func (c *Client) CreateJoinToken(ctx context.Context, ttl time.Duration) (*JoinToken, error) {
	in := struct {
		TTLSeconds int64 `json:"ttl_seconds,omitempty"`
	}{int64(ttl / time.Second)}
	return call[JoinToken](ctx, c, http.MethodPost, "/api/v1/join-tokens", in)
}
