package answer

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/beeos/beeos/agent"
	"github.com/beeos/beeos/internal/outward/skill"
)

// Skill is what gives the model tools: a skill server with the client that reaches
// it, or another agent of the owner's, which has none.
type Skill struct {
	skill.Server
	*skill.Client

	// Peer lists what the other agent can do; nil = it is a skill server.
	Peer func(ctx context.Context) ([]skill.Tool, error)
}

// Tools returns what the model may be offered of the skill.
func (s Skill) Tools(ctx context.Context, fresh bool) ([]skill.Tool, error) {
	if s.Peer != nil {
		return s.Peer(ctx)
	}
	return s.Client.Tools(ctx, fresh)
}

// LeftOut says which tools nobody is offered, and why.
func (s Skill) LeftOut() []string {
	if s.Peer != nil {
		return nil
	}
	return s.Client.LeftOut()
}

// Refresh has the skill server asked again for its tools.
func (s Skill) Refresh() {
	if s.Peer == nil {
		s.Client.Refresh()
	}
}

// Close leaves the skill server.
func (s Skill) Close() error {
	if s.Peer != nil {
		return nil
	}
	return s.Client.Close()
}

// callPeer calls another agent. The key of the call is the same after a crash, so
// that the agent gets it once.
func (t *turn) callPeer(ctx context.Context, at callPlace, target tool, arguments json.RawMessage) (skill.Result, error) {
	c := agent.AgentCall{Agent: target.skill.Agent, Key: at.key()}
	if target.message {
		var in struct {
			Message string `json:"message"`
		}
		if err := json.Unmarshal(arguments, &in); err != nil || strings.TrimSpace(in.Message) == "" {
			return failedResult("the call was not made: say in the argument message what you want of the agent"), nil
		}
		c.Message = in.Message
	} else {
		c.Tool, c.Arguments = target.name, arguments
	}
	text, err := t.r.CallAgent(ctx, c)
	if err != nil {
		return skill.Result{}, err
	}
	return skill.Result{Text: skill.Shorten(text)}, nil
}
