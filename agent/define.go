package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/beeos/beeos"
)

// Options says what the agent is and where it serves. Only Name is required.
type Options struct {
	Name         string // unique among its owner's agents
	DisplayName  string
	Description  string
	Version      string
	Model        string          // for people to see
	Instructions string          // for people to see
	Capabilities json.RawMessage // a JSON object, served as it is

	Tools     []Tool
	Resources []Resource
	Prompts   []Prompt
	Complete  Handler // answers completion/complete with Result; the agent's own handler when nil

	DeliveryMode beeos.DeliveryMode // push when empty; cannot change once declared
	Redelivery   beeos.Redelivery   // what becomes of work when this process dies; empty = another one gets it, unless its caller gave an idempotency key
	Lane         beeos.Lane         // what queue mode takes one at a time; session when empty
	Timeout      time.Duration      // how long a caller waits; the gateway's default when 0
	Concurrency  int                // handlers at once; 0 = no limit

	Gateway   string       // AGENT_GATEWAY_URL, dev.json or http://localhost:8083 when empty
	Key       string       // user key (oag_) to join with; BEEOS_KEY when empty
	JoinToken string       // one-time token to join with; BEEOS_JOIN_TOKEN when empty
	Identity  string       // key file; one per agent in the user's configuration folder when empty
	Log       *slog.Logger // slog.Default() when nil

	// Connected is called each time the agent is connected, with its id. It
	// must not block.
	Connected func(agentID string)

	// Restart is called when the owner asks the agent to restart. It must not
	// block; whoever ends the process lets Run's context end first, so that answers
	// in the making are finished. When nil, the agent connects and declares itself
	// anew.
	Restart func()
}

// Tool is one skill of the agent. Callers see it as an MCP tool; the gateway
// checks the arguments against Schema before the agent gets them.
type Tool struct {
	Name         string
	Title        string
	Description  string
	Schema       json.RawMessage // JSON Schema of the arguments; any object when empty
	OutputSchema json.RawMessage
	Annotations  json.RawMessage
	Icons        json.RawMessage
	Execution    json.RawMessage
	Meta         json.RawMessage
	Tags         []string
	Hidden       bool    // listed as a skill, not offered as a tool
	Handle       Handler // the agent's own handler when nil
}

// Resource is something that clients can read: static when Text or Blob is
// set, otherwise answered by Read, or by the agent's handler when that is nil.
type Resource struct {
	beeos.Resource
	Read Handler
}

// Prompt is a template of messages: static when Messages is set, otherwise
// answered by Get, or by the agent's handler when that is nil.
type Prompt struct {
	beeos.Prompt
	Get Handler
}

// definition is what the agent says about itself in a sync. The gateway
// checks it; here is only what would confuse this process itself.
func (o Options) definition() (beeos.Definition, error) {
	if o.Name == "" {
		return beeos.Definition{}, errors.New("agent: Options.Name is empty; give the agent a name")
	}
	d := beeos.Definition{
		Name: o.Name, DisplayName: o.DisplayName, Description: o.Description, Version: o.Version,
		Model: o.Model, Instructions: o.Instructions, Capabilities: o.Capabilities,
		Completions: o.Complete != nil, DeliveryMode: o.DeliveryMode, Redelivery: o.Redelivery, Lane: o.Lane, TimeoutMS: o.Timeout.Milliseconds(),
	}
	seen := map[string]bool{}
	for _, t := range o.Tools {
		if seen[t.Name] {
			return d, fmt.Errorf("agent %s: two tools are called %q; give one of them another name", o.Name, t.Name)
		}
		seen[t.Name] = true
		s, err := t.skill()
		if err != nil {
			return d, fmt.Errorf("agent %s: %w", o.Name, err)
		}
		d.Skills = append(d.Skills, s)
	}
	for _, r := range o.Resources {
		d.Resources = append(d.Resources, r.Resource)
	}
	for _, p := range o.Prompts {
		d.Prompts = append(d.Prompts, p.Prompt)
	}
	return d, nil
}

func (t Tool) skill() (beeos.Skill, error) {
	s := beeos.Skill{
		Name: t.Name, Title: t.Title, Description: t.Description,
		InputSchema: t.Schema, OutputSchema: t.OutputSchema,
		Annotations: t.Annotations, Icons: t.Icons, Execution: t.Execution, Meta: t.Meta, Tags: t.Tags,
	}
	if len(t.Schema) > 0 && !json.Valid(t.Schema) {
		return s, fmt.Errorf("the schema of tool %q is not JSON", t.Name)
	}
	if t.Hidden {
		expose := false
		s.ExposeAsTool = &expose
	}
	return s, nil
}
