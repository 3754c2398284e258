package act

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/beeos/beeos"
	agentstore "github.com/beeos/beeos/internal/store/agents"
)

// Offer is an agent that its owner shows to others.
type Offer struct {
	Agent *beeos.Agent
	Owner string // as people call them
}

// OfferFilter picks offers; an empty field picks all.
type OfferFilter struct {
	Words   string    // each is in the name, the description or a skill
	Tag     string    // of a skill
	OwnerID string    // also those of this owner that are public
	Version string    // that the agent says it has
	Since   time.Time // changed then or later
	After   string    // the last one of the page before
	Limit   int
}

// offerBatch is how many agents are read at once while a search goes on.
const offerBatch = 200

// Offers lists the agents in the marketplace, the oldest first, or with an owner
// all that this owner shows: the public ones, too. Unlisted and private agents
// are in neither list. next is where the page after this one begins, or "".
func (a *Acts) Offers(ctx context.Context, c beeos.Caller, f OfferFilter) (found []Offer, next string, err error) {
	if err := RequirePerson(c); err != nil {
		return nil, "", err
	}
	pick := agentstore.Filter{OwnerID: f.OwnerID, Visibility: []beeos.Visibility{beeos.VisibleMarketplace}}
	if f.OwnerID != "" {
		pick.Visibility = append(pick.Visibility, beeos.VisiblePublic)
	}
	return a.findOffers(ctx, pick, f)
}

// Directory lists the agents that a caller finds over MCP, the oldest first: a
// person's own and those in the marketplace, and those that an app or a key was
// issued for. Nobody finds nothing.
func (a *Acts) Directory(ctx context.Context, c beeos.Caller, f OfferFilter) (found []Offer, next string, err error) {
	enabled := true
	pick := agentstore.Filter{MCPEnabled: &enabled}
	switch {
	case c.IsPerson():
		pick.OfferedTo = c.UserID
	case c.IsApp() && c.AllAgents:
		pick.OwnerID = c.UserID
	case c.IsApp():
		pick.OwnerID, pick.IDs = c.UserID, append([]string{}, c.AgentIDs...) // none of them is none at all
	case c.IsAgentKey():
		pick.IDs = []string{c.AgentID}
	default:
		return nil, "", nil
	}
	return a.findOffers(ctx, pick, f)
}

// findOffers reads the active agents of a filter until a page is full.
func (a *Acts) findOffers(ctx context.Context, pick agentstore.Filter, f OfferFilter) (found []Offer, next string, err error) {
	active := true
	pick.Active, pick.After, pick.Limit = &active, f.After, offerBatch
	owners := ownerNames{acts: a, known: map[string]string{}}
	for {
		batch, _, err := a.DB.Agents.List(ctx, pick)
		if err != nil {
			return nil, "", err
		}
		for _, agent := range batch {
			owner, err := owners.of(ctx, agent.OwnerID)
			if err != nil {
				return nil, "", err
			}
			if owner == "" || !f.matches(agent) {
				continue
			}
			if len(found) == f.Limit {
				return found, found[f.Limit-1].Agent.ID, nil
			}
			found = append(found, Offer{agent, owner})
		}
		if len(batch) < offerBatch {
			return found, "", nil
		}
		pick.After = batch[len(batch)-1].ID
	}
}

// Offer returns one agent that the caller may call, whoever owns it. One that is
// not listed anywhere is found by whoever knows its id.
func (a *Acts) Offer(ctx context.Context, c beeos.Caller, id string) (Offer, error) {
	if err := RequirePerson(c); err != nil {
		return Offer{}, err
	}
	agent, err := a.DB.Agents.Get(ctx, id)
	if err != nil && beeos.CodeOf(err) != beeos.AgentNotFound {
		return Offer{}, err
	}
	if err == nil && c.MayReach(agent) {
		owners := ownerNames{acts: a, known: map[string]string{}}
		owner, err := owners.of(ctx, agent.OwnerID)
		if owner != "" || err != nil {
			return Offer{agent, owner}, err
		}
	}
	return Offer{}, beeos.Errorf(beeos.AgentNotFound, "nobody offers you an agent %q; look at what is offered in the marketplace", id)
}

// matches reports whether an agent has every word in its name, its description
// or a skill that it shows, a skill with the tag, the version, and changed since.
func (f *OfferFilter) matches(a *beeos.Agent) bool {
	d := &a.Definition
	if f.Version != "" && f.Version != d.PublicVersion() || a.UpdatedAt.Before(f.Since) {
		return false
	}
	text := []string{a.Name, d.DisplayName, d.Description}
	tagged := f.Tag == ""
	for _, sk := range d.Skills {
		if !sk.Exposed() {
			continue
		}
		text = append(append(text, sk.Name, sk.Title, sk.Description), sk.Tags...)
		tagged = tagged || slices.ContainsFunc(sk.Tags, func(t string) bool { return strings.EqualFold(t, f.Tag) })
	}
	where := strings.ToLower(strings.Join(text, "\n"))
	for word := range strings.FieldsSeq(strings.ToLower(f.Words)) {
		if !strings.Contains(where, word) {
			return false
		}
	}
	return tagged
}

// ownerNames are what people are called. A disabled one has no name here, and
// offers nothing.
type ownerNames struct {
	acts  *Acts
	known map[string]string
}

func (o *ownerNames) of(ctx context.Context, id string) (string, error) {
	if name, ok := o.known[id]; ok {
		return name, nil
	}
	u, err := o.acts.DB.People.GetUser(ctx, id)
	switch {
	case err != nil && !isAbsent(err):
		return "", err
	case err != nil || !u.DisabledAt.IsZero():
		o.known[id] = ""
	case u.Name == "":
		o.known[id] = "somebody" // never the address, which is for signing in
	default:
		o.known[id] = u.Name
	}
	return o.known[id], nil
}
