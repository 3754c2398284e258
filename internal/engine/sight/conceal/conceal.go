// Package conceal says what of calls nobody gets to see: the arguments that the
// schema of a tool names secret. The stored message stays whole, as the agent needs
// it; what people and programs are shown of it passes here when it is read, so that
// a call pays nothing.
//
// A schema may have changed since the call. What an agent's tools named secret
// before is kept when it declares others (package agents), and what any of these
// schemas names is masked. Of a tool that nothing is known of, all values are.
package conceal

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/sight"
	"github.com/beeos/beeos/internal/store/agents"
	"github.com/beeos/beeos/internal/store/approvals"
	"github.com/beeos/beeos/internal/store/builtins"
	"github.com/beeos/beeos/internal/wire/schema"
)

// Reader knows the schemas of tools.
type Reader struct {
	Agents   *agents.Table
	Builtins *builtins.Table
}

// toolSchemas are all that are known of a tool; none = nothing is known.
func (r *Reader) toolSchemas(ctx context.Context, agentID, tool string) ([]json.RawMessage, error) {
	schemas, err := r.Agents.ListPastSchemas(ctx, agentID, tool)
	if err != nil {
		return nil, err
	}
	agent, err := r.Agents.Get(ctx, agentID)
	switch {
	case beeos.CodeOf(err) == beeos.AgentNotFound:
		return schemas, nil
	case err != nil:
		return nil, err
	}
	skills := agent.Definition.Skills
	if i := slices.IndexFunc(skills, func(s beeos.Skill) bool { return s.Name == tool }); i >= 0 {
		schemas = append(schemas, skills[i].InputSchema)
	}
	return schemas, nil
}

// maxReplays is how many replays of replays are followed. Beyond, everything is
// secret.
const maxReplays = 16

// CallSecrets returns what of the arguments of a request is secret: what its tool
// names, and, when it repeats another, what the tool of that one names. The second
// agent need not know what the first asked for in confidence.
func (r *Reader) CallSecrets(ctx context.Context, from *sight.Reader, c *sight.Call) (schema.Secrets, error) {
	var all []json.RawMessage
	agentID, replayOf := c.AgentID, c.ReplayOf
	for range maxReplays {
		some, err := r.toolSchemas(ctx, agentID, c.Payload.Tool)
		if err != nil || len(some) == 0 {
			return schema.Secrets{}, err
		}
		all = append(all, some...)
		if replayOf == "" {
			return schema.ReadSecrets(all...), nil
		}
		was, err := from.Ledger.FindRequest(ctx, replayOf)
		if beeos.CodeOf(err) == beeos.NotFound { // it has left with its channel
			return schema.ReadSecrets(all...), nil
		}
		if err != nil {
			return schema.Secrets{}, err
		}
		agentID = was.AgentID
		if replayOf, err = from.Calls.ReplayOf(ctx, replayOf); err != nil {
			return schema.Secrets{}, err
		}
	}
	return schema.Secrets{}, nil
}

// Approvals masks the arguments of tool calls that people decide about, in place.
func (r *Reader) Approvals(ctx context.Context, list []approvals.Approval) error {
	known := map[[3]string]schema.Secrets{}
	for i := range list {
		a := &list[i]
		key := [3]string{a.AgentID, a.Skill, a.Tool}
		if _, ok := known[key]; !ok {
			secrets, err := r.approvalSecrets(ctx, a)
			if err != nil {
				return err
			}
			known[key] = secrets
		}
		if masked := known[key].Mask(a.Arguments); string(masked) != string(a.Arguments) {
			a.Arguments, a.Hash = masked, nil // a hash would let one try out short secrets
		}
	}
	return nil
}

// approvalSecrets returns what is secret of a call that somebody decides about.
// Tools whose names an agent makes up have no schema: then it has said itself what
// is to be shown. Of agents, tools and skills that are gone, nobody knows.
func (r *Reader) approvalSecrets(ctx context.Context, a *approvals.Approval) (unknown schema.Secrets, err error) {
	agent, err := r.Agents.Get(ctx, a.AgentID)
	if err != nil && beeos.CodeOf(err) != beeos.AgentNotFound {
		return unknown, err
	}
	gone := err != nil
	var schemas []json.RawMessage
	switch {
	case a.Skill == "":
		schemas, err = r.toolSchemas(ctx, a.AgentID, a.Tool)
	case gone:
		return unknown, nil
	default:
		schemas, err = r.skillSchemas(ctx, agent, a)
		gone = len(schemas) == 0 && err == nil && r.isBuiltin(ctx, agent)
	}
	if err != nil || gone && len(schemas) == 0 {
		return unknown, err
	}
	return schema.ReadSecrets(append(schemas, nil)...), nil
}

func (r *Reader) isBuiltin(ctx context.Context, agent *beeos.Agent) bool {
	_, err := r.Builtins.Get(ctx, agent.OwnerID, agent.InstanceID)
	return beeos.CodeOf(err) != beeos.NotFound
}

// skillSchemas are those of a tool of a built-in agent's skill server: as a person
// knows it, as they knew it before, and as it is described now.
func (r *Reader) skillSchemas(ctx context.Context, agent *beeos.Agent, a *approvals.Approval) (schemas []json.RawMessage, err error) {
	tools, err := r.Builtins.ListSkillTools(ctx, agent.InstanceID, a.Skill)
	for _, t := range tools {
		if t.Tool != a.Tool {
			continue
		}
		for _, text := range []string{t.Definition, t.Held, t.Past} {
			var described struct {
				InputSchema json.RawMessage `json:"inputSchema"`
			}
			if text != "" && json.Unmarshal([]byte(text), &described) == nil {
				schemas = append(schemas, described.InputSchema)
			}
		}
	}
	return schemas, err
}
