package act

import (
	"context"
	"slices"
	"strings"

	"github.com/beeos/beeos"
	keystore "github.com/beeos/beeos/internal/store/keys"
	"github.com/beeos/beeos/internal/wire/strictjson"
)

// Whose tasks one may see: everybody their own, and the owner of an agent those
// that were made with a key of the agent. The key is the owner's, whoever has it.

// TaskPrincipal returns under which principal the caller may look at a task with
// an agent. It is the caller's own where there is nothing else to see.
func (a *Acts) TaskPrincipal(ctx context.Context, c beeos.Caller, agent *beeos.Agent, turn string) (string, error) {
	own := c.Principal()
	if !c.IsPerson() || agent.OwnerID != c.UserID || agent.MetadataOnly {
		return own, nil
	}
	maker, err := a.taskMaker(ctx, turn)
	if err != nil || maker == own {
		return own, err
	}
	id, byKey := strings.CutPrefix(maker, keyPrincipal(""))
	if !byKey {
		return own, nil
	}
	known, err := a.hasAgentKey(ctx, agent, id)
	if !known {
		return own, err
	}
	asked, err := a.Ledger.FindRequest(ctx, turn)
	if err != nil || strictjson.Field(asked.Payload, "metadata_only") != nil {
		return own, err
	}
	return maker, nil
}

// KeyCaller returns who calls with a key of the agent, for the agent's owner.
func (a *Acts) KeyCaller(ctx context.Context, c beeos.Caller, agent *beeos.Agent, keyID string) (beeos.Caller, error) {
	if agent.MetadataOnly && owns(c, agent.OwnerID) {
		return beeos.Caller{}, beeos.Errorf(beeos.Forbidden, "what callers of this agent say is kept from its owner (metadata only); look at its calls instead")
	}
	known := false
	var err error
	if c.IsPerson() && agent.OwnerID == c.UserID {
		known, err = a.hasAgentKey(ctx, agent, keyID)
	}
	if err == nil && !known {
		err = beeos.Errorf(beeos.NotFound, "you have no key %q of this agent", keyID)
	}
	return beeos.Caller{Kind: beeos.ByAgentKey, CredentialID: keyID, AgentID: agent.ID}, err
}

func keyPrincipal(id string) string {
	return beeos.Caller{Kind: beeos.ByAgentKey, CredentialID: id}.Principal()
}

// hasAgentKey reports whether a key is or was one of the agent's: what was
// called with it outlives it.
func (a *Acts) hasAgentKey(ctx context.Context, agent *beeos.Agent, id string) (bool, error) {
	keys, err := a.DB.Keys.List(ctx, keystore.Filter{Owner: agent.OwnerID, Kind: beeos.AgentKey, AgentID: agent.ID})
	return slices.ContainsFunc(keys, func(k beeos.Key) bool { return k.ID == id }), err
}

// taskMaker returns whose the channel of a request is; empty if there is no
// such request.
func (a *Acts) taskMaker(ctx context.Context, turn string) (string, error) {
	d, err := a.Ledger.OpenDelivery(ctx, turn)
	channel := d.Channel
	if isAbsent(err) {
		done, failed := a.Ledger.Terminal(ctx, turn)
		if failed != nil || done == nil {
			return "", failed
		}
		channel, err = done.Channel, nil
	}
	if err != nil {
		return "", err
	}
	ch, err := a.Ledger.Channel(ctx, channel)
	if isAbsent(err) {
		return "", nil
	}
	return ch.Owner, err
}
