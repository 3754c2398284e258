package builtin

import (
	"cmp"
	"context"
	"encoding/json"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/outward/skill"
)

// messageTool is what the model knows a message to another agent by.
const messageTool = "message"

var messageSchema = json.RawMessage(`{"type":"object","properties":{"message":{"type":"string","description":"What you want of the agent, in your own words. It knows nothing of this conversation."}},"required":["message"]}`)

// findPeer returns the other agent that a skill is. It has the same owner: what
// others change about theirs is nothing that a model should be told unseen.
func (rt *Supervisor) findPeer(ctx context.Context, ownerID string, s skill.Server) (*beeos.Agent, error) {
	a, err := rt.opt.Agents.Get(ctx, s.Agent)
	if beeos.CodeOf(err) == beeos.AgentNotFound && err != nil {
		a, err = rt.opt.Agents.GetByName(ctx, ownerID, s.Agent)
	}
	if err != nil && beeos.CodeOf(err) != beeos.AgentNotFound {
		return nil, err
	}
	if err != nil || a.OwnerID != ownerID || !a.Active {
		return nil, beeos.Errorf(beeos.AgentNotFound, "skill %s is an agent %q, and you have none of that name or id; look at your agents", s.Name, beeos.Visible(s.Agent))
	}
	return a, nil
}

// checkPeer says what is wrong with a skill that is an agent.
func (rt *Supervisor) checkPeer(ctx context.Context, ownerID, name string, s skill.Server) error {
	a, err := rt.findPeer(ctx, ownerID, s)
	if err == nil && a.Name == name {
		return beeos.Errorf(beeos.InvalidParam, "skill %s is the agent itself; name another one", s.Name)
	}
	return err
}

// peerTools lists what the model may want of another agent: its tools, and a
// message to it.
func (rt *Supervisor) peerTools(ctx context.Context, ownerID string, s skill.Server) (list []skill.Tool, err error) {
	a, err := rt.findPeer(ctx, ownerID, s)
	if err != nil {
		return nil, err
	}
	own := false
	for _, sk := range a.Definition.Skills {
		if !sk.Exposed() {
			continue
		}
		own = own || sk.Name == messageTool
		list = append(list, skill.Tool{
			Name: sk.Name, FullName: skill.FullName(s.Name, sk.Name), Title: sk.Title, Description: sk.Description, Schema: sk.InputSchema, Annotations: sk.Annotations,
		})
	}
	if !own && (a.SelfTool || len(list) == 0) { // as MCP clients see it
		list = append(list, skill.Tool{
			Name: messageTool, FullName: skill.FullName(s.Name, messageTool), Schema: messageSchema, Message: true,
			Description: cmp.Or(s.Description, a.Definition.Description, "Send a message to the agent "+a.Name+" and get its answer."),
		})
	}
	return list, nil
}
