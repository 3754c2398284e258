package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"strconv"
)

// Offer is an agent of anybody's, as the marketplace shows it to everybody who
// is signed in.
type Offer struct {
	ID          string         `json:"id"`
	Name        string         `json:"name"`
	DisplayName string         `json:"displayName,omitempty"`
	Description string         `json:"description,omitempty"`
	Visibility  string         `json:"visibility"` // marketplace or public
	Owner       string         `json:"owner"`      // as people call them
	OwnerID     string         `json:"ownerId"`
	Online      bool           `json:"online"`
	MCPURL      string         `json:"mcpUrl,omitempty"`
	A2AURL      string         `json:"a2aUrl,omitempty"`
	Skills      []OfferedSkill `json:"skills"`
}

// OfferedSkill is one capability of an agent in the marketplace.
type OfferedSkill struct {
	Name        string   `json:"name"`
	Title       string   `json:"title,omitempty"`
	Description string   `json:"description,omitempty"`
	Tags        []string `json:"tags,omitempty"`
}

// MarketplaceFilter selects offers; the zero value selects all.
type MarketplaceFilter struct {
	Query   string // words that are all in the name, the description or a skill
	Tag     string // of one of the skills
	OwnerID string // all that this person shows, public agents too
}

// Marketplace yields the agents that are offered to everybody, page by page.
func (c *Client) Marketplace(ctx context.Context, f MarketplaceFilter) iter.Seq2[Offer, error] {
	return func(yield func(Offer, error) bool) {
		q := url.Values{"limit": {strconv.Itoa(pageSize)}}
		for name, value := range map[string]string{"query": f.Query, "tag": f.Tag, "owner": f.OwnerID} {
			if value != "" {
				q.Set(name, value)
			}
		}
		for {
			var page struct {
				Agents []Offer `json:"agents"`
				Next   string  `json:"next_cursor"`
			}
			if _, err := c.do(ctx, http.MethodGet, "/api/v1/marketplace?"+q.Encode(), nil, &page); err != nil {
				yield(Offer{}, err)
				return
			}
			for _, o := range page.Agents {
				if !yield(o, nil) {
					return
				}
			}
			if page.Next == "" {
				return
			}
			q.Set("cursor", page.Next)
		}
	}
}
