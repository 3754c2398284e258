package client

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Usage is what answers of the user's agents took of models, by all that they have
// in common; what it was not grouped by is empty.
type Usage struct {
	Day            string   `json:"day,omitempty"` // 2026-01-31
	AgentID        string   `json:"agent_id,omitempty"`
	Caller         string   `json:"caller,omitempty"`
	CallerName     string   `json:"caller_name,omitempty"`
	CredentialID   string   `json:"credential_id,omitempty"` // the key or app; empty = people who are signed in
	Tool           string   `json:"tool,omitempty"`
	Model          string   `json:"model,omitempty"`
	Answers        int64    `json:"answers"`
	InputTokens    int64    `json:"input_tokens"`
	OutputTokens   int64    `json:"output_tokens"`
	CostUSD        *float64 `json:"cost_usd"` // nil = no price is known
	UnpricedTokens int64    `json:"unpriced_tokens"`
}

// UsageFilter picks usage; an empty field leaves it to the server.
type UsageFilter struct {
	AgentID      string
	Since, Until time.Time // days
	By           []string  // agent, caller, credential, day, model, tool
}

// Usage adds up what answers of the user's agents took, the latest day first, then
// what cost most.
func (c *Client) Usage(ctx context.Context, f UsageFilter) ([]Usage, error) {
	q := url.Values{}
	if f.AgentID != "" {
		q.Set("agent_id", f.AgentID)
	}
	if len(f.By) > 0 {
		q.Set("group_by", strings.Join(f.By, ","))
	}
	for name, t := range map[string]time.Time{"from": f.Since, "until": f.Until} {
		if !t.IsZero() {
			q.Set(name, t.UTC().Format(time.DateOnly))
		}
	}
	var found struct {
		Usage []Usage `json:"usage"`
	}
	_, err := c.do(ctx, http.MethodGet, "/api/v1/usage?"+q.Encode(), nil, &found)
	return found.Usage, err
}
