package web

import (
	"context"
	"net/url"
	"strings"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/access/act"
	"github.com/beeos/beeos/internal/surface/web/page"
	"github.com/beeos/beeos/internal/surface/web/safetext"
)

// marketData is what people on this server offer each other.
type marketData struct {
	Offers      []offerRow
	Query       string
	Owner       string // whose agents these are; "" = anybody's
	OwnerID     string
	Later       bool // this is not the first page
	First, Next string
}

// offerRow is an agent as those see it who do not own it.
type offerRow struct {
	page.AgentRow
	Owner string
	Mine  bool
}

// offerData is all that others may know about an agent, and how they call it.
// Over A2A it answers only to its owner and to its own keys.
type offerData struct {
	offerRow
	OwnerID   string
	About     string // what it says about itself, in Markdown
	MCP, REST string
	Snippets  []snippet
	Offered   []offeredSkill
}

type offeredSkill struct{ Name, Text string }

func (s *Surface) showMarketplace(r *page.Request) (page.Answer, error) {
	q := r.URL.Query()
	f := act.OfferFilter{Words: strings.TrimSpace(q.Get("q")), OwnerID: q.Get("owner"), After: q.Get("after"), Limit: agentsPerPage}
	offers, next, err := s.Acts.Offers(r.Context(), r.Caller(), f)
	if err != nil {
		return nil, err
	}
	d := marketData{Query: f.Words, OwnerID: f.OwnerID, Later: f.After != "", First: marketPath(f.Words, f.OwnerID, "")}
	if next != "" {
		d.Next = marketPath(f.Words, f.OwnerID, next)
	}
	if d.Offers, err = s.describeOffers(r.Context(), r.Visitor, offers); err != nil {
		return nil, err
	}
	if f.OwnerID != "" {
		d.Owner = "somebody"
		if len(offers) > 0 {
			d.Owner = offers[0].Owner
		}
	}
	return page.View{Page: "marketplace", Title: "Marketplace", Room: "marketplace", Here: d.First, Data: d}, nil
}

func (s *Surface) describeOffers(ctx context.Context, v *page.Visitor, offers []act.Offer) ([]offerRow, error) {
	list := make([]*beeos.Agent, len(offers))
	for i := range offers {
		list[i] = offers[i].Agent
	}
	agents, err := s.describeAgents(ctx, v, list)
	if err != nil {
		return nil, err
	}
	rows := make([]offerRow, len(offers))
	for i, o := range offers {
		rows[i] = newOfferRow(agents[i], o, v)
	}
	return rows, nil
}

func newOfferRow(row page.AgentRow, o act.Offer, v *page.Visitor) offerRow {
	row.Skills = len(listOffered(o.Agent))
	return offerRow{row, o.Owner, o.Agent.OwnerID == v.User.ID}
}

// listOffered returns the skills that an agent shows.
func listOffered(a *beeos.Agent) (list []offeredSkill) {
	for _, sk := range a.Definition.Skills {
		if sk.Exposed() {
			list = append(list, offeredSkill{safetext.Line(sk.Name, 80), safetext.Line(sk.Description, 300)})
		}
	}
	return list
}

func marketPath(words, ownerID, after string) string {
	q := url.Values{}
	for name, value := range map[string]string{"q": words, "owner": ownerID, "after": after} {
		if value != "" {
			q.Set(name, value)
		}
	}
	if len(q) == 0 {
		return "/marketplace"
	}
	return "/marketplace?" + q.Encode()
}

// showOffer shows an agent that the visitor may call, with how to do so.
func (s *Surface) showOffer(r *page.Request) (page.Answer, error) {
	o, err := s.Acts.Offer(r.Context(), r.Caller(), r.PathValue("agent"))
	if err != nil {
		return nil, err
	}
	a := o.Agent
	rows, err := s.describeOffers(r.Context(), r.Visitor, []act.Offer{o})
	if err != nil {
		return nil, err
	}
	d := offerData{
		offerRow: rows[0], OwnerID: a.OwnerID, About: a.Definition.Description, REST: s.restURL(a.ID), Offered: listOffered(a), Snippets: s.listOfferSnippets(a),
	}
	if a.MCPEnabled {
		d.MCP = s.mcpURL(a.ID)
	}
	return page.View{Page: "offer", Title: d.Title, Room: "marketplace", Here: "/marketplace/" + a.ID, Data: d}, nil
}
