package act

import (
	"context"
	"strconv"

	"github.com/beeos/beeos"
	agentstore "github.com/beeos/beeos/internal/store/agents"
	"github.com/beeos/beeos/internal/store/audit"
)

// UpdateAgent changes what the owner decides about an agent.
func (a *Acts) UpdateAgent(ctx context.Context, c beeos.Caller, id string, p agentstore.Patch) (*beeos.Agent, error) {
	if _, err := a.OwnAgent(ctx, c, id); err != nil {
		return nil, err
	}
	if p.RateLimit != nil && (*p.RateLimit < 0 || *p.RateLimit > maxKeyRate) {
		return nil, beeos.Errorf(beeos.InvalidParam, "a limit of calls must be from 0 (the default limit) to %d a minute", maxKeyRate)
	}
	agent, err := a.DB.Agents.Update(ctx, id, p)
	if err != nil {
		return nil, err
	}
	detail := map[string]string{}
	if p.Visibility != nil {
		detail["visibility"] = string(*p.Visibility)
	}
	if p.MCPEnabled != nil {
		detail["mcp_enabled"] = strconv.FormatBool(*p.MCPEnabled)
	}
	if p.SelfTool != nil {
		detail["self_tool"] = strconv.FormatBool(*p.SelfTool)
	}
	if p.HandOver != nil {
		detail["hand_over"] = strconv.FormatBool(*p.HandOver)
	}
	if p.WhenLeft != nil {
		detail["when_left"] = string(*p.WhenLeft)
	}
	if p.MetadataOnly != nil {
		detail["metadata_only"] = strconv.FormatBool(*p.MetadataOnly)
	}
	if p.RateLimit != nil {
		detail["rate_limit"] = strconv.Itoa(*p.RateLimit)
	}
	if p.Title != nil {
		detail["title"] = *p.Title
	}
	a.record(ctx, c, agent.OwnerID, audit.AgentUpdate, id, detail)
	a.tellChanged(id)
	return agent, nil
}

// DeleteAgent takes an agent away, with its keys. A built-in one ends and does
// not come back; a program of the owner's would have to declare it again.
func (a *Acts) DeleteAgent(ctx context.Context, c beeos.Caller, id string) error {
	agent, err := a.OwnAgent(ctx, c, id)
	if err != nil {
		return err
	}
	row, ok, err := a.BuiltinOf(ctx, agent)
	if err != nil {
		return err
	}
	if ok {
		if err := a.endBuiltin(ctx, row); err != nil {
			return err
		}
	}
	if err := a.DB.Agents.Delete(ctx, id); err != nil {
		return err
	}
	a.tellRevoked(id) // its keys, by the agent's id
	a.record(ctx, c, agent.OwnerID, audit.AgentDelete, id, map[string]string{"name": agent.Name})
	a.tellChanged(id)
	return nil
}

// EndInstance takes an instance away. The key of a machine is no good any
// more, and agents that it alone declared become inactive; the process itself
// is its owner's to end. A built-in agent is deleted, as by DeleteAgent.
func (a *Acts) EndInstance(ctx context.Context, c beeos.Caller, id string) (deleted bool, err error) {
	i, err := a.OwnInstance(ctx, c, id)
	if err != nil {
		return false, err
	}
	agents, _, err := a.DB.Agents.List(ctx, agentstore.Filter{OwnerID: i.OwnerID, InstanceID: id, Limit: 1000})
	if err != nil {
		return false, err
	}
	row, err := a.DB.Builtins.Get(ctx, i.OwnerID, id)
	switch {
	case err != nil && !isAbsent(err):
		return false, err
	case err == nil:
		for _, agent := range agents {
			if agent.InstanceID == id {
				return true, a.DeleteAgent(ctx, c, agent.ID)
			}
		}
		if err := a.endBuiltin(ctx, row); err != nil { // somebody else declares its agent now
			return false, err
		}
	default:
		if err := a.DB.Instances.Revoke(ctx, i.OwnerID, id); err != nil {
			return false, err
		}
		a.tellRevoked(id)
	}
	a.record(ctx, c, i.OwnerID, audit.InstanceRevoke, id, map[string]string{"name": i.Name})
	for _, agent := range agents {
		a.tellChanged(agent.ID)
	}
	return false, nil
}
