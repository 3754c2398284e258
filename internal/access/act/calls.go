package act

import (
	"context"
	"slices"
	"strings"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/ledger"
	"github.com/beeos/beeos/internal/engine/sight"
	agentstore "github.com/beeos/beeos/internal/store/agents"
	"github.com/beeos/beeos/internal/store/calls"
)

// Whose calls one may look into: the owner of an agent those to the agent,
// whoever made them.

// CallFilter picks calls.
type CallFilter struct {
	calls.Filter        // AgentIDs is set here
	AgentID      string // empty = of all agents of the caller's
}

const (
	maxOwned     = 10_000 // agents whose calls are listed at once
	maxOpenPages = 100    // of calls under way that are looked through for those that a filter picks
)

// Calls lists calls to agents of the caller's, those that began last first.
func (a *Acts) Calls(ctx context.Context, c beeos.Caller, f CallFilter) ([]calls.Call, error) {
	if err := a.pickAgents(ctx, c, &f); err != nil {
		return nil, err
	}
	all := len(f.Outcomes) == 0
	apart := f.Slower > 0 || !all // what is under way has to be looked for by itself
	working := all || slices.Contains(f.Outcomes, calls.Working)
	f.Outcomes = slices.DeleteFunc(f.Outcomes, func(o calls.Outcome) bool { return o == calls.Working })
	var list []calls.Call
	if all || len(f.Outcomes) > 0 {
		found, err := a.DB.Calls.Find(ctx, f.Filter)
		if err != nil {
			return nil, err
		}
		for i := range found {
			if c := &found[i]; c.Outcome == calls.Working {
				c.Took = a.Now().Sub(c.Began)
			}
		}
		list = found
	}
	if working && apart {
		open, err := a.openCalls(ctx, &f)
		if err != nil {
			return nil, err
		}
		list = append(list, open...)
	}
	slices.SortStableFunc(list, func(x, y calls.Call) int { return strings.Compare(y.Turn, x.Turn) })
	list = slices.CompactFunc(list, func(x, y calls.Call) bool { return x.Turn == y.Turn }) // one may have ended in between
	return list[:min(len(list), f.Limit)], nil
}

// CallNames returns what calls to agents of the caller's can be filtered by.
func (a *Acts) CallNames(ctx context.Context, c beeos.Caller) (calls.Names, error) {
	f := CallFilter{}
	if err := a.pickAgents(ctx, c, &f); err != nil {
		return calls.Names{}, err
	}
	return a.DB.Calls.Names(ctx, f.AgentIDs)
}

// pickAgents fills in of which agents the caller may see calls.
func (a *Acts) pickAgents(ctx context.Context, c beeos.Caller, f *CallFilter) error {
	if f.AgentID != "" {
		agent, err := a.OwnAgent(ctx, c, f.AgentID)
		if err == nil {
			f.AgentIDs = []string{agent.ID}
		}
		return err
	}
	if err := RequirePerson(c); err != nil {
		return err
	}
	owned, _, err := a.DB.Agents.List(ctx, agentstore.Filter{OwnerID: c.UserID, Limit: maxOwned})
	f.AgentIDs = make([]string, len(owned))
	for i, agent := range owned {
		f.AgentIDs[i] = agent.ID
	}
	return err
}

// openCalls are those that a filter picks and that have no outcome yet.
func (a *Acts) openCalls(ctx context.Context, f *CallFilter) ([]calls.Call, error) {
	if len(f.AgentIDs) == 0 {
		return nil, nil
	}
	var list []calls.Call
	before := f.Before
	for range maxOpenPages {
		open, err := a.Ledger.Requests(ctx, ledger.RequestFilter{AgentIDs: f.AgentIDs, Open: true, Before: before, Limit: f.Limit})
		if err != nil {
			return nil, err
		}
		for i := range open {
			r := &open[i]
			of := calls.Route{AgentID: r.AgentID, Caller: r.Publisher, Surface: r.Surface, Tool: r.Tool}
			if took := a.Now().Sub(r.CreatedAt); f.Picks(of, r.CreatedAt, took) {
				list = append(list, calls.Call{Turn: r.ID, Route: of, Outcome: calls.Working, Began: r.CreatedAt, Took: took})
			}
		}
		if len(open) < f.Limit || len(list) >= f.Limit {
			break
		}
		before = open[len(open)-1].ID
	}
	return list, nil
}

// Call returns what is known of a call to an agent of the caller's, without what
// nobody gets to see of it (conceal.go). Of a replay that they sent to an agent of
// somebody else's they see what was said, and none of what that agent's owner alone
// may know.
func (a *Acts) Call(ctx context.Context, c beeos.Caller, turn string) (sight.Call, error) {
	found, err := a.findCall(ctx, c, turn)
	if err != nil {
		return sight.Call{}, err
	}
	if err := a.concealCall(ctx, &found); err != nil {
		return sight.Call{}, err
	}
	if found.Publisher != c.Principal() && c.Kind != beeos.ByOperator {
		found.ReplayOf = "" // a call to somebody else's agent, perhaps
	}
	return found, nil
}

// findCall is Call with the secrets in it, for who makes the call again.
func (a *Acts) findCall(ctx context.Context, c beeos.Caller, turn string) (sight.Call, error) {
	if err := RequirePerson(c); err != nil {
		return sight.Call{}, err
	}
	found, err := a.sightReader().Call(ctx, turn)
	var agent *beeos.Agent
	if err == nil {
		agent, err = a.OwnAgent(ctx, c, found.AgentID)
	}
	mine := found.Publisher == c.Principal()
	switch beeos.CodeOf(err) {
	case beeos.AgentNotFound, beeos.Forbidden:
		if mine && found.ReplayOf != "" {
			hideWork(&found)
			return found, nil
		}
		fallthrough
	case beeos.NotFound:
		return sight.Call{}, beeos.Errorf(beeos.NotFound, "there is no call %q to an agent of yours; list them to see which there are", turn)
	}
	if err != nil {
		return sight.Call{}, err
	}
	found.MetadataOnly = !mine && (agent.MetadataOnly || found.Payload.MetadataOnly)
	return found, nil
}

func (a *Acts) sightReader() *sight.Reader {
	return &sight.Reader{Ledger: a.Ledger, Approvals: a.DB.Approvals, Calls: a.DB.Calls, Webhooks: a.DB.Webhooks}
}

// hideWork leaves out of a call what concerns the owner of its agent.
func hideWork(c *sight.Call) {
	c.Steps, c.Attempts, c.Approvals = nil, nil, nil
	c.Timeline = slices.DeleteFunc(c.Timeline, func(m sight.Moment) bool {
		return m.Kind != sight.Received && m.Kind != sight.Stored && m.Kind != sight.ReplyStored
	})
}
