package rest

import (
	"context"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/access/act"
	"github.com/beeos/beeos/internal/surface/rest/route"
)

// The marketplace is where everybody who is signed in finds agents of others:
// those of visibility marketplace, or with an owner all that this owner shows,
// which is the public ones too. Unlisted and private ones are in neither.

// offerView is an agent as strangers see it in a list.
type offerView struct {
	ID          string           `json:"id"`
	Name        string           `json:"name"`
	DisplayName string           `json:"displayName,omitempty"`
	Description string           `json:"description,omitempty"`
	Visibility  beeos.Visibility `json:"visibility"`
	Owner       string           `json:"owner"` // as people call them
	OwnerID     string           `json:"ownerId"`
	Online      bool             `json:"online"`
	MCPURL      string           `json:"mcpUrl,omitempty"`
	A2AURL      string           `json:"a2aUrl,omitempty"`
	Skills      []offeredSkill   `json:"skills"`
}

type offeredSkill struct {
	Name        string   `json:"name"`
	Title       string   `json:"title,omitempty"`
	Description string   `json:"description,omitempty"`
	Tags        []string `json:"tags,omitempty"`
}

func (s *Surface) listMarketplace(r *route.Request) (any, error) {
	q := r.URL.Query()
	limit, err := r.QueryLimit("limit", 50, 100)
	if err != nil {
		return nil, err
	}
	offers, next, err := s.opt.Acts.Offers(r.Context(), r.Caller, act.OfferFilter{
		Words: q.Get("query"), Tag: q.Get("tag"), OwnerID: q.Get("owner"), After: q.Get("cursor"), Limit: int(limit),
	})
	if err != nil {
		return nil, err
	}
	page := map[string]any{"agents": route.Views(offers, func(o *act.Offer) offerView { return s.viewOffer(r.Context(), o.Agent, o.Owner) })}
	if next != "" {
		page["next_cursor"] = next
	}
	return page, nil
}

func (s *Surface) viewOffer(ctx context.Context, a *beeos.Agent, owner string) offerView {
	all := s.viewAgent(ctx, a)
	v := offerView{
		ID: a.ID, Name: a.Name, DisplayName: all.DisplayName, Description: all.Description, Visibility: a.Visibility,
		Owner: owner, OwnerID: a.OwnerID, Online: all.Online, MCPURL: all.MCPURL, A2AURL: all.A2AURL, Skills: []offeredSkill{},
	}
	for _, sk := range a.Definition.Skills {
		if sk.Exposed() {
			v.Skills = append(v.Skills, offeredSkill{sk.Name, sk.Title, sk.Description, sk.Tags})
		}
	}
	return v
}
